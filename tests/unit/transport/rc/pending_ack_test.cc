// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/pending_ack.h"

#include <gtest/gtest.h>

#include <chrono>

namespace urnic::transport {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDelay = 20us;
constexpr AckPatience kPatience = ack_patience(kDelay, 14);

/// A peer's WRITEs and our answers to them, on one clock.
class PendingAckTest : public testing::Test {
 protected:
  /// Takes a WRITE, answers it `after` so long, and sends what is pending; whether its ACK waited.
  bool waits_when_answered(Duration after) {
    now_ += 100us;
    ack_.set_for_write(now_, kPatience);
    const bool waited = !ack_.is_due(now_);
    now_ += after;
    ack_.on_request_sent(now_, kPatience, true);
    EXPECT_TRUE(ack_.is_due(now_)) << "it follows the answer";
    ack_.clear();
    return waited;
  }

  PendingAck ack_;
  Time now_{};
};

TEST_F(PendingAckTest, WaitsForNobodyBeforeAQuickAnswer) {
  EXPECT_FALSE(waits_when_answered(kDelay));
  EXPECT_FALSE(waits_when_answered(kDelay - 1ns));
  EXPECT_TRUE(waits_when_answered(0ns));
}

TEST_F(PendingAckTest, WaitsForTheLastPacketOfTheAnswer) {
  waits_when_answered(0ns);
  ack_.set_for_write(now_, kPatience);
  ack_.on_request_sent(now_, kPatience, false);
  for (int packet = 1; packet < 9; ++packet) {
    now_ += 5 * kDelay - 1ns;
    EXPECT_FALSE(ack_.is_due(now_)) << packet;
    ack_.on_request_sent(now_, kPatience, false);
  }
  ack_.on_request_sent(now_, kPatience, true);
  EXPECT_TRUE(ack_.is_due(now_));
}

TEST_F(PendingAckTest, DoesNotWaitForAnAnswerThatStops) {
  waits_when_answered(0ns);
  ack_.set_for_write(now_, kPatience);
  ack_.on_request_sent(now_, kPatience, false);
  EXPECT_FALSE(ack_.is_due(now_ + 5 * kDelay - 1ns));
  EXPECT_TRUE(ack_.is_due(now_ + 5 * kDelay));
  EXPECT_EQ(ack_.waits_until(), now_ + 5 * kDelay);
}

TEST_F(PendingAckTest, DoesNotWaitForAnAnswerWithoutEnd) {
  waits_when_answered(0ns);
  ack_.set_for_write(now_, kPatience);
  const Time arrived = now_;
  while (now_ < arrived + 50 * kDelay) {
    EXPECT_FALSE(ack_.is_due(now_));
    ack_.on_request_sent(now_, kPatience, false);
    now_ += kDelay / 2;
  }
  EXPECT_TRUE(ack_.is_due(now_));
}

TEST(AckPatience, LeavesHalfOfTheAckTimeout) {
  EXPECT_EQ(ack_patience(kDelay, 14).all, 1ms);
  EXPECT_EQ(ack_patience(kDelay, 0).all, 1ms) << "none";
  EXPECT_EQ(ack_patience(kDelay, 8).all, 524'288ns);
  EXPECT_EQ(ack_patience(kDelay, 8).first, kDelay);
  EXPECT_EQ(ack_patience(kDelay, 1).first, 4096ns);
}

TEST_F(PendingAckTest, LateAnswersCountWhenThereAreEightInARow) {
  waits_when_answered(0ns);
  for (int round = 0; round < 3; ++round) {
    for (int late = 0; late < 7; ++late) EXPECT_TRUE(waits_when_answered(kDelay)) << round << ' ' << late;
    EXPECT_TRUE(waits_when_answered(0ns));
  }
  for (int late = 0; late < 8; ++late) EXPECT_TRUE(waits_when_answered(kDelay)) << late;
  EXPECT_FALSE(waits_when_answered(kDelay));
}

}  // namespace
}  // namespace urnic::transport
