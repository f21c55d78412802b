// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Swift: the window grows below the target delay, shrinks above it at most once in a round trip, and paces
// below a packet.
#include "transport/congestion/swift.h"

#include <gtest/gtest.h>

#include <chrono>

namespace urnic::transport::congestion {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kPacket = 1024;
constexpr Time kBegin{1h};

SwiftParameters parameters() {
  return {.base_delay = 100,
          .fs_range = 400,
          .fs_min_cwnd = 1,
          .fs_max_cwnd = 100,
          .ai = 100,
          .beta = 80,
          .max_mdf = 50,
          .min_window = 64,
          .max_window = 100 * kPacket};
}

TEST(Swift, GrowsByAPacketWithEachShortRoundTrip) {
  Swift swift(kPacket, parameters());
  swift.on_timeout(kBegin);
  EXPECT_DOUBLE_EQ(swift.window(), 50 * kPacket);
  swift.on_ack(50us, kBegin + 1ms);
  EXPECT_DOUBLE_EQ(swift.window(), 51 * kPacket);
  EXPECT_EQ(swift.allowance(kBegin).window_bytes, 51u * kPacket);
  EXPECT_EQ(swift.allowance(kBegin).rate, kUnlimited);
}

TEST(Swift, NeverGrowsBeyondItsMost) {
  Swift swift(kPacket, parameters());
  swift.on_ack(50us, kBegin);
  EXPECT_DOUBLE_EQ(swift.window(), 100 * kPacket);
}

// The target of the largest window is the base delay: 200 us are twice that, and take 80 % of one half.
TEST(Swift, ShrinksByWhatTheRoundTripIsTooLong) {
  Swift swift(kPacket, parameters());
  swift.on_ack(200us, kBegin);
  EXPECT_DOUBLE_EQ(swift.window(), 100 * kPacket * (1 - 0.8 * 0.5));
}

TEST(Swift, ShrinksByAtMostHalfAndOnceInARoundTrip) {
  Swift swift(kPacket, parameters());
  swift.on_ack(100ms, kBegin);
  EXPECT_DOUBLE_EQ(swift.window(), 50 * kPacket);
  swift.on_ack(100ms, kBegin + 1us);
  swift.on_nak(kBegin + 2us);
  EXPECT_DOUBLE_EQ(swift.window(), 50 * kPacket);
  swift.on_nak(kBegin + 1s);
  EXPECT_DOUBLE_EQ(swift.window(), 25 * kPacket);
}

// A window of one packet has a target of 500 us.
TEST(Swift, ExpectsLongerRoundTripsWhereTheWindowIsSmall) {
  Swift swift(kPacket, parameters());
  Time now = kBegin;
  while (swift.window() > kPacket) swift.on_timeout(now += 1s);
  const double before = swift.window();
  swift.on_ack(450us, now + 1s);
  EXPECT_GT(swift.window(), before);
}

TEST(Swift, PacesWhereTheWindowIsLessThanAPacket) {
  Swift swift(kPacket, parameters());
  Time now = kBegin;
  for (int i = 0; i < 20; ++i) swift.on_timeout(now += 1s);
  EXPECT_DOUBLE_EQ(swift.window(), 64);
  const Allowance allowance = swift.allowance(now);
  EXPECT_EQ(allowance.window_bytes, kPacket);
  EXPECT_EQ(allowance.rate, 64u * 8 * 10'000);  // in the 100 us that a round trip is taken for
}

}  // namespace
}  // namespace urnic::transport::congestion
