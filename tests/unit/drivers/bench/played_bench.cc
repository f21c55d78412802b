// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/drivers/bench/played_bench.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

namespace urnic::drivers::test {
namespace {

void add(Bytes& to, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
}

}  // namespace

Bytes Written::hello(std::uint64_t latency_ps, std::uint16_t mtu, std::uint32_t version) {
  Bytes message;
  add(message, 1, 4);
  add(message, version, 4);
  add(message, latency_ps, 8);
  message.insert(message.end(), {2, 0, 10, 0, 0, 9});
  add(message, mtu, 2);
  message.insert(message.end(), {10, 0, 0, 9, 0, 0, 0, 0});
  return message;
}

Bytes Written::grant(std::uint64_t time_ps) {
  Bytes message;
  add(message, 2, 4);
  add(message, 0, 4);
  add(message, time_ps, 8);
  return message;
}

Bytes Written::frame(std::uint64_t time_ps, const Bytes& frame) {
  Bytes message;
  add(message, 3, 4);
  add(message, frame.size(), 4);
  add(message, time_ps, 8);
  message.insert(message.end(), frame.begin(), frame.end());
  return message;
}

PlayedBench::PlayedBench() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) ADD_FAILURE() << "no sockets";
  own_end_ = Descriptor(ends[0]);
  link_end_ = Descriptor(ends[1]);
}

void PlayedBench::send(const Bytes& message) const {
  const ssize_t sent = ::send(own_end_.get(), message.data(), message.size(), MSG_NOSIGNAL);
  EXPECT_EQ(sent, static_cast<ssize_t>(message.size()));
}

Bytes PlayedBench::read() const {
  Bytes message(10000);
  const ssize_t bytes = recv(own_end_.get(), message.data(), message.size(), MSG_DONTWAIT);
  message.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return message;
}

std::vector<Bytes> PlayedBench::read_until_grant(std::uint64_t time_ps) const {
  std::vector<Bytes> before;
  for (Bytes message = read(); !message.empty(); message = read()) {
    if (message == Written::grant(time_ps)) return before;
    before.push_back(message);
  }
  ADD_FAILURE() << "there was no grant of " << time_ps << " ps";
  return before;
}

}  // namespace urnic::drivers::test
