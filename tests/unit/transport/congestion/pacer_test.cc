// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The pacer: when requests may leave, how round trips are measured, and what a controller hears.
#include "transport/congestion/pacer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "transport/congestion/fixed.h"

namespace urnic::transport::congestion {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart{1h};

/// What the controller heard, and what it allows.
struct Heard {
  Allowance allowance;
  std::vector<std::uint32_t> sent;
  std::vector<Duration> round_trips;
  int naks = 0;
  int timeouts = 0;
};

class Recorded final : public Controller {
 public:
  explicit Recorded(Heard& heard) : heard_(heard) {}

  void on_send(std::uint32_t bytes, Time) override { heard_.sent.push_back(bytes); }
  void on_ack(Duration round_trip, Time) override { heard_.round_trips.push_back(round_trip); }
  void on_nak(Time) override { ++heard_.naks; }
  void on_timeout(Time) override { ++heard_.timeouts; }
  void update(const Choice&, Time) override {}
  Allowance allowance(Time) override { return heard_.allowance; }
  ControllerState state(Time) override { return {.allowance = heard_.allowance}; }

 private:
  Heard& heard_;
};

class PacerTest : public testing::Test {
 protected:
  PacerTest() { pacer_.start(std::make_unique<Recorded>(heard_)); }

  void send(std::uint32_t psn, std::uint32_t bytes, Time now) {
    pacer_.on_sent({.psn = Psn(psn), .bytes = bytes, .asks_for_ack = true}, now);
  }

  Heard heard_;
  Pacer pacer_;
};

TEST(PacerWithoutAController, HoldsNothingBack) {
  Pacer pacer;
  EXPECT_FALSE(pacer.is_active());
  pacer.on_acknowledged(Psn(2), kStart);
  pacer.on_nak(kStart);
  pacer.on_timeout(kStart);
  EXPECT_EQ(pacer.next_departure(), kNever);
  EXPECT_FALSE(pacer.on_cnp(kStart));
  EXPECT_EQ(pacer.state(kStart), std::nullopt);
}

// 1000 bytes and 70 around them at 1 Gb/s: 8560 ns.
TEST_F(PacerTest, SpacesRequestsByTheirBytesOnTheWire) {
  heard_.allowance.rate = 1000 * kMegabit;
  constexpr Duration kTakes{8560};
  // 100 us may be made good for at once: 11 packets fit, and the twelfth begins within them.
  int at_once = 0;
  while (!pacer_.holds(kStart)) {
    send(0, 1000, kStart);
    ++at_once;
  }
  EXPECT_EQ(at_once, 12);
  EXPECT_EQ(pacer_.next_departure(), kStart - 100us + 12 * kTakes);
  const Time next = pacer_.next_departure();
  EXPECT_TRUE(pacer_.holds(next - 1ns));
  EXPECT_FALSE(pacer_.holds(next));
  send(1, 1000, next);
  EXPECT_TRUE(pacer_.holds(next));
  EXPECT_EQ(pacer_.next_departure(), next + kTakes);
}

TEST_F(PacerTest, WakesFromAWaitOnlyWhereThereIsOne) {
  heard_.allowance.rate = kMegabit;
  send(0, 1000, kStart);
  EXPECT_EQ(pacer_.next_departure(), kNever);
  EXPECT_TRUE(pacer_.holds(kStart));
  EXPECT_NE(pacer_.next_departure(), kNever);
  pacer_.end_wait();
  EXPECT_EQ(pacer_.next_departure(), kNever);
}

TEST_F(PacerTest, CountsWhatIsSentAgain) {
  send(0, 100, kStart);
  pacer_.on_sent({.psn = Psn(0), .bytes = 100, .is_repetition = true}, kStart);
  EXPECT_THAT(heard_.sent, testing::ElementsAre(170, 170));
}

TEST_F(PacerTest, MeasuresOneRoundTripAtATime) {
  send(5, 100, kStart);
  send(6, 100, kStart + 1us);
  pacer_.on_acknowledged(Psn(5), kStart + 2us);  // all before 5
  EXPECT_THAT(heard_.round_trips, testing::IsEmpty());
  pacer_.on_acknowledged(Psn(7), kStart + 30us);
  EXPECT_THAT(heard_.round_trips, testing::ElementsAre(Duration(30us)));
  pacer_.on_acknowledged(Psn(8), kStart + 40us);
  EXPECT_EQ(heard_.round_trips.size(), 1u);
}

TEST_F(PacerTest, MeasuresNothingWhereARequestWasSentTwice) {
  send(5, 100, kStart);
  pacer_.on_sent({.psn = Psn(5), .bytes = 100, .asks_for_ack = true, .is_repetition = true}, kStart + 1ms);
  pacer_.on_acknowledged(Psn(6), kStart + 2ms);
  EXPECT_THAT(heard_.round_trips, testing::IsEmpty());
}

TEST_F(PacerTest, ForgetsTheMeasurementWithALoss) {
  send(5, 100, kStart);
  pacer_.on_nak(kStart + 1us);
  pacer_.on_acknowledged(Psn(6), kStart + 2us);
  send(6, 100, kStart + 3us);
  pacer_.on_timeout(kStart + 4us);
  pacer_.on_acknowledged(Psn(7), kStart + 5us);
  EXPECT_THAT(heard_.round_trips, testing::IsEmpty());
  EXPECT_EQ(heard_.naks, 1);
  EXPECT_EQ(heard_.timeouts, 1);
}

TEST_F(PacerTest, LetsOnePacketFlyHoweverSmallTheWindow) {
  heard_.allowance.window_bytes = 100;
  EXPECT_EQ(pacer_.window_packets(1024, kStart), 1u);
  heard_.allowance.window_bytes = 10 * 1024 + 1;
  EXPECT_EQ(pacer_.window_packets(1024, kStart), 10u);
}

TEST(TimeOnWire, IsRoundedUp) {
  EXPECT_EQ(time_on_wire(1, 3'000'000'000), Duration(3));
  EXPECT_EQ(time_on_wire(125, 1000 * kMegabit), Duration(1000));
  EXPECT_EQ(time_on_wire(4096, kUnlimited), Duration::zero());
}

}  // namespace
}  // namespace urnic::transport::congestion
