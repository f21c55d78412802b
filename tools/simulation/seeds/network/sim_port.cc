// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/network/sim_port.h"

#include <algorithm>
#include <chrono>

namespace urnic::sim {

namespace {

/// After that a port whose path had no room looks again.
constexpr Duration kLookAgain = std::chrono::microseconds(10);
/// A NIC sends 64 packets a round, of requests and of responses each, and a turn without a packet counts as
/// one (Transmitter).
constexpr std::size_t kCrowdedRound = 32;

}  // namespace

nic::Room SimPort::reserve_to(const transport::wire::Mac&) {
  if (at_.clock.now() < at_.full_until) return {};
  if (at_.faults_on && at_.random.chance(at_.options.port_full)) {
    ++at_.times_full;
    at_.full_until =
        at_.clock.now() + at_.random.between(std::chrono::nanoseconds(1), std::chrono::microseconds(50));
    return {};
  }
  if (!at_.network.path().has_room(at_.host)) {
    ++at_.times_held_up;
    at_.held_up_since = std::min(at_.held_up_since, at_.clock.now());
    at_.full_until = at_.clock.now() + kLookAgain;
    return {};
  }
  at_.held_up_before = at_.held_up();
  at_.held_up_since = transport::kNever;
  return room();
}

void SimPort::commit(std::size_t length) {
  VirtualPort::commit(length);
  at_.frames_not_flushed = frames_not_flushed();
}

void SimPort::flush() {
  if (frames_not_flushed() >= kCrowdedRound) {
    at_.crowded_until = at_.clock.now() + std::chrono::nanoseconds(1);
  }
  VirtualPort::flush();
  at_.frames_not_flushed = 0;
}

void SimPort::send(Frame frame) {
  at_.tap.on_sent(at_.host, frame.bytes);
  at_.network.send(at_.host, frame.bytes);
}

}  // namespace urnic::sim
