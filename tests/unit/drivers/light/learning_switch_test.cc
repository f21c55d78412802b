// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/learning_switch.h"

#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "tests/unit/drivers/light/fake_port.h"

namespace urnic::drivers {
namespace {

using test::Bytes;
using test::FakePort;
using test::frame_between;
using test::kBroadcast;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using transport::wire::Mac;

constexpr Switch::Clock::time_point kNow{};

/// The NIC at port N has this address.
constexpr Mac mac(std::uint8_t n) {
  return Mac{{2, 0, 0, 0, 0, n}};
}

class LearningSwitchTest : public ::testing::Test {
 protected:
  /// A switch of `ports` ports, whose other ends are ends_[0] and up.
  void connect(std::size_t ports, std::size_t max_frame_bytes = 2000) {
    for (std::size_t i = 0; i < ports; ++i) {
      ends_.push_back(std::make_shared<FakePort::Outside>());
      switch_.add(std::make_unique<FakePort>(ends_.back(), max_frame_bytes));
    }
  }
  void put(std::size_t port, const Bytes& frame) { ends_[port]->to_receive.push_back(frame); }
  Switch::Round round() { return switch_.run_round(kNow); }
  /// The switch has seen a frame of every NIC. What the NICs got is forgotten.
  void introduce_all() {
    for (std::uint8_t i = 0; i < ends_.size(); ++i) put(i, frame_between(kBroadcast, mac(i), 60, 0));
    round();
    for (const auto& end : ends_) end->sent.clear();
  }
  std::vector<std::size_t> counts() const {
    std::vector<std::size_t> counts;
    for (const auto& end : ends_) counts.push_back(end->sent.size());
    return counts;
  }

  LearningSwitch switch_;
  std::vector<std::shared_ptr<FakePort::Outside>> ends_;
};

TEST_F(LearningSwitchTest, SendsAFrameForAPortWhoseNicIsNotThereAnyMore) {
  connect(3);
  introduce_all();
  switch_.inject(0, frame_between(mac(2), mac(0), 60, 7), kNow);
  EXPECT_THAT(counts(), ElementsAre(0, 0, 1));
  switch_.inject(0, Bytes(3), kNow);
  switch_.inject(0, frame_between(mac(1), mac(0), 3000, 7), kNow);
  EXPECT_THAT(counts(), ElementsAre(0, 0, 1)) << "what is no frame, or too long, goes nowhere";
}

TEST_F(LearningSwitchTest, FloodsWhatIsForEverybodyButNeverBack) {
  connect(4);
  const Bytes frame = frame_between(kBroadcast, mac(1), 60, 7);
  put(1, frame);
  EXPECT_EQ(round().frames, 1u);
  EXPECT_THAT(counts(), ElementsAre(1, 0, 1, 1));
  EXPECT_EQ(ends_[3]->sent[0], frame);
  EXPECT_EQ(switch_.counters(1).flooded_frames, 1u);
}

TEST_F(LearningSwitchTest, FloodsWhatIsForSomebodyUnknownAndThenKnowsWhereThatOneIs) {
  connect(3);
  put(0, frame_between(mac(2), mac(0), 60, 1));
  round();
  EXPECT_THAT(counts(), ElementsAre(0, 1, 1));
  put(2, frame_between(mac(0), mac(2), 60, 2));
  round();
  EXPECT_THAT(counts(), ElementsAre(1, 1, 1)) << "the answer went to the asker alone";
  put(0, frame_between(mac(2), mac(0), 60, 3));
  round();
  EXPECT_THAT(counts(), ElementsAre(1, 1, 2));
  EXPECT_EQ(switch_.counters(0).flooded_frames, 1u);
}

TEST_F(LearningSwitchTest, FollowsAnAddressThatMoves) {
  connect(3);
  introduce_all();
  put(2, frame_between(kBroadcast, mac(0), 60, 1));
  round();
  for (const auto& end : ends_) end->sent.clear();
  put(1, frame_between(mac(0), mac(1), 60, 2));
  round();
  EXPECT_THAT(counts(), ElementsAre(0, 0, 1));
}

TEST_F(LearningSwitchTest, SendsNothingBackToWhereItCameFrom) {
  connect(3);
  introduce_all();
  put(0, frame_between(mac(0), mac(0), 60, 1));
  round();
  EXPECT_THAT(counts(), ElementsAre(0, 0, 0));
}

TEST_F(LearningSwitchTest, KeepsTheOrderOfABurst) {
  connect(2);
  introduce_all();
  for (std::uint8_t i = 0; i < 100; ++i) put(0, frame_between(mac(1), mac(0), 60u + i, i));
  round();
  round();
  ASSERT_THAT(ends_[1]->sent, SizeIs(100));
  for (std::uint8_t i = 0; i < 100; ++i) EXPECT_EQ(ends_[1]->sent[i].back(), std::byte{i});
}

TEST_F(LearningSwitchTest, ReadsNoFurtherWhileAFrameHasNoRoomAndLosesNothing) {
  connect(3);
  introduce_all();
  ends_[1]->room = 2;
  for (std::uint8_t i = 0; i < 5; ++i) put(0, frame_between(mac(1), mac(0), 60, i));
  put(0, frame_between(mac(2), mac(0), 60, 9));
  EXPECT_TRUE(round().is_waiting);
  EXPECT_THAT(counts(), ElementsAre(0, 2, 0));
  put(0, frame_between(mac(2), mac(0), 60, 10));
  const Switch::Round still = round();
  EXPECT_TRUE(still.is_waiting);
  EXPECT_EQ(still.frames, 0u);

  ends_[1]->room = 100;
  EXPECT_FALSE(round().is_waiting);
  EXPECT_THAT(counts(), ElementsAre(0, 5, 1));
  round();
  EXPECT_THAT(counts(), ElementsAre(0, 5, 2));
}

TEST_F(LearningSwitchTest, GoesOnForOthersWhileOnePortWaits) {
  connect(4);
  introduce_all();
  ends_[1]->room = 0;
  put(0, frame_between(mac(1), mac(0), 60, 1));
  put(2, frame_between(mac(3), mac(2), 60, 2));
  EXPECT_TRUE(round().is_waiting);
  EXPECT_THAT(counts(), ElementsAre(0, 0, 0, 1));
}

TEST_F(LearningSwitchTest, GivesAFloodedFrameToEachPortOnceEvenIfOneHasToBeWaitedFor) {
  connect(4);
  introduce_all();
  ends_[2]->room = 0;
  put(0, frame_between(kBroadcast, mac(0), 60, 1));
  EXPECT_TRUE(round().is_waiting);
  EXPECT_TRUE(round().is_waiting);
  ends_[2]->room = 1;
  EXPECT_FALSE(round().is_waiting);
  EXPECT_THAT(counts(), ElementsAre(0, 1, 1, 1));
}

TEST_F(LearningSwitchTest, GivesEverySenderItsTurnWhereRoomIsShort) {
  connect(3);
  introduce_all();
  for (int i = 0; i < 40; ++i) {
    put(0, frame_between(mac(2), mac(0), 60, 0));
    put(1, frame_between(mac(2), mac(1), 60, 1));
  }
  for (int i = 0; i < 40; ++i) {
    ends_[2]->room = 1;
    round();
  }
  const auto from_first = std::count_if(ends_[2]->sent.begin(), ends_[2]->sent.end(),
                                        [](const Bytes& f) { return f.back() == std::byte{0}; });
  EXPECT_THAT(ends_[2]->sent, SizeIs(40));
  EXPECT_GE(from_first, 10);
  EXPECT_LE(from_first, 30);
}

TEST_F(LearningSwitchTest, DropsAndCountsWhatIsNoFrame) {
  connect(2);
  introduce_all();
  put(0, Bytes(13));
  put(0, Bytes());
  put(0, frame_between(mac(1), kBroadcast, 60, 0));
  round();
  EXPECT_THAT(counts(), ElementsAre(0, 0));
  EXPECT_EQ(switch_.counters(0).malformed_frames, 3u);
  put(1, frame_between(kBroadcast, mac(1), 14, 0));
  round();
  EXPECT_THAT(ends_[0]->sent, SizeIs(1)) << "a header alone is a frame";
}

TEST_F(LearningSwitchTest, KeepsWhatIsForTheLinkAlone) {
  connect(2);
  put(0, frame_between({{0x01, 0x80, 0xc2, 0, 0, 0x01}}, mac(0), 60, 0));
  put(0, frame_between({{0x01, 0x80, 0xc2, 0, 0, 0x10}}, mac(0), 60, 0));
  round();
  EXPECT_THAT(counts(), ElementsAre(0, 1));
}

TEST_F(LearningSwitchTest, DropsAndCountsWhatAPortIsTooNarrowFor) {
  connect(2, 100);
  ends_.push_back(std::make_shared<FakePort::Outside>());
  switch_.add(std::make_unique<FakePort>(ends_.back(), 2000));
  introduce_all();
  put(2, frame_between(mac(0), mac(2), 101, 0));
  put(2, frame_between(mac(0), mac(2), 100, 1));
  round();
  EXPECT_THAT(counts(), ElementsAre(1, 0, 0));
  EXPECT_EQ(switch_.counters(0).too_long_frames, 1u);
}

TEST_F(LearningSwitchTest, FlushesInTheRoundInWhichItForwards) {
  connect(2);
  introduce_all();
  const std::size_t before = ends_[1]->flushes;
  put(0, frame_between(mac(1), mac(0), 60, 0));
  round();
  EXPECT_GT(ends_[1]->flushes, before);
}

TEST_F(LearningSwitchTest, IsDrainedWhenAllItsPortsAre) {
  connect(3);
  EXPECT_TRUE(switch_.is_drained());
  ends_[1]->is_drained = false;
  EXPECT_FALSE(switch_.is_drained());
}

TEST_F(LearningSwitchTest, ArmsAllPortsAndSaysWhetherAnyHasFrames) {
  connect(3);
  put(0, frame_between(mac(1), mac(0), 60, 0));
  EXPECT_TRUE(switch_.arm());
  for (const auto& end : ends_) EXPECT_TRUE(end->is_armed);
  round();
  EXPECT_FALSE(switch_.arm());
}

TEST_F(LearningSwitchTest, ArmsAnewOnlyPortsThatHadFramesOrWokeIt) {
  connect(3);
  switch_.arm();
  put(0, frame_between(mac(1), mac(0), 60, 0));
  round();
  switch_.disarm(2);
  EXPECT_FALSE(ends_[0]->is_armed) << "it has work, and its peer need not wake the switch";
  EXPECT_FALSE(ends_[2]->is_armed);
  switch_.arm();
  EXPECT_EQ(ends_[0]->times_armed, 2u);
  EXPECT_EQ(ends_[1]->times_armed, 1u);
  EXPECT_EQ(ends_[2]->times_armed, 2u);
}

TEST_F(LearningSwitchTest, KeepsAnAddressAliveThatGoesOnTheSameWay) {
  connect(3);
  introduce_all();
  const auto age = ForwardingTable::kMaxAge;
  for (Switch::Clock::time_point now = kNow; now <= kNow + 2 * age; now += age / 4) {
    put(0, frame_between(mac(1), mac(0), 60, 0));
    put(1, frame_between(mac(0), mac(1), 60, 0));
    switch_.run_round(now);
  }
  EXPECT_EQ(switch_.table().find(mac(0)), 0);
  EXPECT_FALSE(switch_.table().find(mac(2))) << "which has been silent";
  EXPECT_EQ(switch_.counters(0).flooded_frames, 1u) << "the first";
}

}  // namespace
}  // namespace urnic::drivers
