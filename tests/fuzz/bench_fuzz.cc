// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: the NIC's end of a wire to a test bench that says whatever it likes, and then goes away.
//
// The input is messages, each after its length in two bytes, little-endian; the first one takes the place of
// the hello. What must hold: a hello that is taken has a latency that leaves something to grant; time never
// goes back, and does not stand when the bench is gone; frames that are given have possible lengths; a link
// that is lost says why, once.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>

#include "drivers/bench/bench_link.h"
#include "nic/clock.h"

namespace urnic::drivers {
namespace {

constexpr std::uint16_t kMtu = 300;
/// What a socket holds of small messages, so that nothing waits.
constexpr std::size_t kMostMessages = 100;
constexpr int kSteps = 200;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

void say_all(int bench, std::span<const std::byte> input) {
  for (std::size_t i = 0; i < kMostMessages && input.size() >= 2; ++i) {
    const std::size_t wanted = std::to_integer<std::size_t>(input[0]) | std::to_integer<std::size_t>(input[1])
                                                                            << 8;
    input = input.subspan(2);
    const auto message = input.first(std::min(wanted, input.size()));
    input = input.subspan(message.size());
    if (send(bench, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return;
  }
}

void look_at_arrivals(BenchLink& link) {
  std::array<nic::ReceivedFrame, 8> frames;
  for (const auto& frame : std::span(frames).first(link.receive(frames))) {
    require(frame.size() >= 14 && frame.size() <= link.max_frame_bytes(), "a frame has a possible length");
    // Reads all of it.
    static_cast<void>(std::count(frame.begin(), frame.end(), std::byte{0}));
  }
}

void run(std::span<const std::byte> input) {
  std::array<int, 2> ends{};
  require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0, "there are sockets");
  Descriptor bench(ends[0]);
  say_all(bench.get(), input);
  shutdown(bench.get(), SHUT_WR);
  nic::GrantedClock clock;
  int told = 0;
  const BenchLink::Config config{.own = {.link_mtu = kMtu}, .tell = [&told](const std::string&) { ++told; }};
  const auto link = BenchLink::over(Descriptor(ends[1]), "b", config, clock);
  if (!link) return;
  const BenchHello& peer = link.value()->peer();
  require(peer.latency_ps >= kLeastBenchLatencyPs && peer.latency_ps <= kMostBenchLatencyPs, "a latency");
  require(peer.link_mtu >= kMtu, "the bench carries what the NIC sends");
  for (int i = 0; i < kSteps; ++i) {
    const auto before = clock.on_wire();
    const bool has_moved = i % 3 == 0 ? link.value()->follow(clock.now() + transport::Duration(i * 100))
                                      : link.value()->step(transport::kNever);
    require(clock.on_wire() >= before, "time does not go back");
    require(has_moved, "without a peer, time goes on by itself");
    if (i % 2 == 0) look_at_arrivals(*link.value());
  }
  while (link.value()->has_arrivals()) look_at_arrivals(*link.value());
  require(told <= 1, "the reason is told once");
  require(!link.value()->is_lost() || told == 1, "a link that is lost says why");
}

}  // namespace
}  // namespace urnic::drivers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::drivers::run(std::as_bytes(std::span(data, size)));
  return 0;
}
