// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SelectiveRepeat: a flow with selective repeat, packet by packet, and its judge.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <initializer_list>
#include <optional>

#include "tests/unit/sim/flow_packets.h"
#include "tools/simulation/seeds/checks/flow_observer.h"

namespace urnic::sim::flow_test {

inline constexpr std::uint32_t kFirst = 100;

/// A WRITE of one packet.
inline WireView write_only(std::uint32_t psn) {
  return {.opcode = 0x0a,
          .psn = psn,
          .ack_request = true,
          .kind = PacketKind::kWrite,
          .is_first = true,
          .is_last = true,
          .length = 8,
          .payload = bytes(8)};
}

/// Two ends of which one sends from PSN 100 on. What leaves is lost unless a test says that it is taken.
class SelectiveRepeat : public ::testing::Test {
 protected:
  explicit SelectiveRepeat(std::uint32_t first_psn = kFirst)
      : observer_({.mtu_bytes = kMtu,
                   .window_packets = 8,
                   .max_reads_in_flight = 4,
                   .ack_timeout = std::chrono::milliseconds(4),
                   .first_psn = first_psn,
                   .recovery = transport::Recovery::kSelectiveRepeat}) {
    for (int i = 0; i < 300; ++i) observer_.on_posted({});
  }

  /// `held` are PSNs.
  WireView selective_nak(std::uint32_t psn, std::uint32_t msn, std::initializer_list<std::uint32_t> held) {
    bits_ = {};
    for (const std::uint32_t one : held) {
      const std::uint32_t bit = one - psn - 1;
      bits_[bit / 8] |= std::byte{1} << (bit % 8);
    }
    return {.opcode = 0xd1,
            .psn = psn,
            .kind = PacketKind::kAcknowledge,
            .has_aeth = true,
            .is_selective_nak = true,
            .syndrome = 0x60,
            .msn = msn,
            .payload = bits_};
  }

  FlowObserver::Complaint sent(const WireView& packet) { return observer_.on_request_sent(packet, now_); }
  FlowObserver::Complaint answered(const WireView& packet) {
    return observer_.on_response_sent(packet, now_);
  }
  void take(const WireView& packet) { observer_.on_request_taken(packet, now_); }
  void learn(const WireView& packet) { observer_.on_response_taken(packet, now_); }

  void lose(const WireView& packet) { EXPECT_THAT(sent(packet), ::testing::Eq(std::nullopt)) << packet.psn; }
  void request(const WireView& packet) {
    lose(packet);
    take(packet);
  }
  void lose_answer(const WireView& packet) { EXPECT_THAT(answered(packet), ::testing::Eq(std::nullopt)); }
  void answer(const WireView& packet) {
    lose_answer(packet);
    learn(packet);
  }
  /// WRITEs of one packet each.
  void request_writes(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t psn = first; psn <= last; ++psn) request(write_only(psn));
  }

  Time now_{std::chrono::seconds(1)};
  std::array<std::byte, 32> bits_{};
  FlowObserver observer_;
};

}  // namespace urnic::sim::flow_test
