// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/path_probe.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "nic/diagnostics/snapshot_names.h"
#include "nic/host/random_bits.h"
#include "tools/inspection/doctor/probe_socket.h"
#include "transport/wire/udp.h"

namespace urnic::tools {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Kind = ProbeMessage::Kind;

constexpr int kAttempts = 3;
constexpr auto kPatience = 300ms;  // of each

struct Address {
  sockaddr_storage storage{};
  std::string text;
};

/// The first address of a host that we have a family for; the error is for a person.
Result<Address, Error> address_of(const std::string& host) {
  const addrinfo hints{.ai_flags = AI_ADDRCONFIG,
                       .ai_family = AF_UNSPEC,
                       .ai_socktype = SOCK_DGRAM,
                       .ai_protocol = 0,
                       .ai_addrlen = 0,
                       .ai_addr = nullptr,
                       .ai_canonname = nullptr,
                       .ai_next = nullptr};
  addrinfo* found = nullptr;
  if (const int code =
          getaddrinfo(host.c_str(), std::to_string(transport::wire::kRocePort).c_str(), &hints, &found);
      code != 0) {
    return Error{.code = EINVAL, .message = fmt::format("{}: {}", host, gai_strerror(code))};
  }
  Address address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  std::array<char, NI_MAXHOST> text{};
  getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  address.text = text.data();
  freeaddrinfo(found);
  return address;
}

/// One after the other, each under a number of its own: late answers do not count.
class Prober {
 public:
  explicit Prober(ProbeSocket socket) : socket_(std::move(socket)), next_number_(nic::random_bits()) {}

  /// Which answers came to a packet of this size, in one of a few attempts.
  struct Answers {
    bool has_receipt = false;
    bool has_echo = false;
    Clock::duration took{};
  };
  Answers ask(std::size_t packet_bytes) {
    Answers answers;
    for (int i = 0; i < kAttempts && !answers.has_echo && !is_refused_; ++i) ask_once(packet_bytes, answers);
    return answers;
  }
  bool is_refused() const { return is_refused_; }
  ProbeSender own_address() const { return socket_.own_address(); }
  /// From where the last packet of ours came that the peer has answered.
  const ProbeSender& seen_as() const { return seen_as_; }

 private:
  void ask_once(std::size_t packet_bytes, Answers& answers) {
    const std::uint64_t number = next_number_++;
    const Clock::time_point asked = Clock::now();
    const ProbeMessage probe{
        .kind = Kind::kProbe, .number = number, .packet_bytes = static_cast<std::uint32_t>(packet_bytes)};
    const int error = socket_.send(probe, packet_bytes);
    if (error != 0) return note(error);
    while (!answers.has_echo) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(asked + kPatience - Clock::now());
      int heard = 0;
      const auto received = socket_.receive(left, heard);
      if (!received) return note(heard);
      if (received->message.number != number) continue;
      if (received->message.kind == Kind::kReceipt && !answers.has_receipt) {
        answers.has_receipt = true;
        seen_as_ = received->message.sender;
        answers.took = Clock::now() - asked;
      }
      answers.has_echo |= received->message.kind == Kind::kEcho && received->packet_bytes == packet_bytes;
    }
  }
  void note(int error) { is_refused_ |= error == ECONNREFUSED; }

  const ProbeSocket socket_;
  std::uint64_t next_number_;
  bool is_refused_ = false;
  ProbeSender seen_as_;
};

std::string text_of(const ProbeSender& sender) {
  return fmt::format("{} port {}", nic::address_text(sender.address), sender.port);
}

void measure(Prober& prober, PathFacts& facts) {
  Prober::Answers small = prober.ask(kLeastPacketBytes);
  facts.is_refused = prober.is_refused();
  facts.is_answered = small.has_receipt;
  if (!facts.is_answered) return;
  for (int i = 0; i < kAttempts; ++i) {
    const auto again = prober.ask(kLeastPacketBytes);
    if (again.has_receipt) small.took = std::min(small.took, again.took);
  }
  facts.round_trip_us = std::chrono::duration<double, std::micro>(small.took).count();
  const ProbeSender own = prober.own_address();
  if (prober.seen_as() != own) {
    facts.sent_from = text_of(own);
    facts.seen_as = text_of(prober.seen_as());
  }

  const auto gets_there = [&prober](std::size_t bytes) { return prober.ask(bytes).has_receipt; };
  const auto comes_back = [&prober](std::size_t bytes) { return prober.ask(bytes).has_echo; };
  facts.bytes_there = static_cast<unsigned>(largest_that(kLeastPacketBytes, kMostPacketBytes, gets_there));
  if (facts.bytes_there == 0) return;
  facts.bytes_back = static_cast<unsigned>(largest_that(kLeastPacketBytes, facts.bytes_there, comes_back));
}

void answer(const ProbeSocket& socket) {
  int error = 0;
  while (const auto asked = socket.receive(0ms, error)) {
    if (asked->message.kind != Kind::kProbe) continue;
    ProbeMessage reply{.kind = Kind::kReceipt,
                       .number = asked->message.number,
                       .packet_bytes = static_cast<std::uint32_t>(asked->packet_bytes),
                       .sender = sender_of(asked->from)};
    socket.send(reply, 0, &asked->from);
    reply.kind = Kind::kEcho;
    socket.send(reply, asked->packet_bytes, &asked->from);
  }
}

}  // namespace

std::size_t largest_that(std::size_t least, std::size_t most,
                         const std::function<bool(std::size_t)>& gets_through) {
  if (gets_through(most)) return most;
  if (!gets_through(least)) return 0;
  // `least` gets through, `most` does not.
  while (most - least > 1) {
    const std::size_t middle = least + (most - least) / 2;
    (gets_through(middle) ? least : most) = middle;
  }
  return least;
}

PathFacts probe_path(const std::string& host) {
  PathFacts facts{.peer = host, .address = "", .error = ""};
  const auto address = address_of(host);
  if (!address) {
    facts.error = address.error().message;
    return facts;
  }
  facts.address = address.value().text;
  auto socket = ProbeSocket::open(address.value().storage.ss_family);
  if (!socket) {
    facts.error = socket.error().message;
    return facts;
  }
  if (const auto connected = socket.value().connect_to(address.value().storage); !connected) {
    facts.error = connected.error().message;
    return facts;
  }
  Prober prober(std::move(socket.value()));
  measure(prober, facts);
  return facts;
}

// A host may have one of the two families only.
Error answer_probes(const std::function<void()>& ready) {
  std::vector<ProbeSocket> sockets;
  std::vector<pollfd> waiting;
  Error last;
  for (const int family : {AF_INET, AF_INET6}) {
    auto socket = ProbeSocket::open(family);
    if (!socket) {
      last = socket.error();
      continue;
    }
    if (const auto bound = socket.value().bind_to_roce_port(); !bound) {
      last = bound.error();
      if (last.code == EADDRINUSE) return last;
      continue;
    }
    waiting.push_back({.fd = socket.value().fd(), .events = POLLIN, .revents = 0});
    sockets.push_back(std::move(socket.value()));
  }
  if (sockets.empty()) return last;
  ready();
  for (;;) {
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
      return Error{.code = errno, .message = std::generic_category().message(errno)};
    }
    for (const ProbeSocket& socket : sockets) answer(socket);
  }
}

}  // namespace urnic::tools
