// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/loopback/loopback_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "tests/unit/drivers/light/fake_port.h"

namespace urnic::drivers::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Bytes frame_to_self(std::uint8_t n, std::size_t size = 64) {
  return frame_between(kOwnMac, kOwnMac, size, n);
}

/// ARP, or neighbor discovery over IPv6, to a group.
Bytes arp_request() {
  Bytes frame = frame_between(Mac::broadcast(), kOwnMac, 64, 2);
  frame[12] = std::byte{0x08};
  frame[13] = std::byte{0x06};
  return frame;
}
Bytes neighbor_solicitation() {
  Bytes frame = frame_between(Mac{{0x33, 0x33, 0, 0, 0, 1}}, kOwnMac, 64, 3);
  frame[12] = std::byte{0x86};
  frame[13] = std::byte{0xdd};
  frame[14 + 6] = std::byte{58};
  return frame;
}

bool is_readable(int fd) {
  pollfd poll_fd{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&poll_fd, 1, 0) == 1;
}

/// The loopback without a wire.
class LoopbackAlone : public testing::Test {
 protected:
  LoopbackPort port_{kOwnMac, nullptr, 1500};
};

/// The loopback around a wire.
class LoopbackWithWire : public testing::Test {
 protected:
  std::shared_ptr<FakePort::Outside> wire_ = std::make_shared<FakePort::Outside>();
  LoopbackPort port_{kOwnMac, std::make_unique<FakePort>(wire_), 1500};
};

TEST_F(LoopbackAlone, BringsBackWhatIsSentToTheOwnMacInOrder) {
  send(port_, frame_to_self(1));
  send(port_, frame_to_self(2, 1500));
  send(port_, frame_to_self(3, 14));
  EXPECT_THAT(receive(port_), ElementsAre(frame_to_self(1), frame_to_self(2, 1500), frame_to_self(3, 14)));
  EXPECT_THAT(receive(port_), IsEmpty());
}

TEST_F(LoopbackWithWire, PassesRunsOnToOthersAlone) {
  wire_->is_shared_memory = true;
  const Bytes run = frame_between(kPeerMac, kOwnMac, 1500, 9);
  const nic::Room room = port_.reserve_to(kPeerMac);
  ASSERT_FALSE(room.run().empty());
  std::copy(run.begin(), run.end(), room.run().begin());
  port_.commit_run(run.size(), {.mtu = transport::PathMtu::k256, .packets = 5});
  EXPECT_EQ(wire_->sent_runs, 1u);
  EXPECT_THAT(wire_->sent, ElementsAre(run));
  EXPECT_TRUE(port_.reserve_to(kOwnMac).run().empty());
  EXPECT_TRUE(port_.reserve_to(Mac::broadcast()).run().empty());
}

TEST_F(LoopbackWithWire, LeavesTheIcrcOutForOthersAlone) {
  wire_->is_shared_memory = true;
  const Bytes frame = frame_between(kPeerMac, kOwnMac, 64, 9);
  const nic::Room room = port_.reserve_to(kPeerMac);
  ASSERT_TRUE(room.may_lack_icrc());
  std::copy(frame.begin(), frame.end(), room.bytes().begin());
  port_.commit_without_icrc(frame.size());
  EXPECT_EQ(wire_->sent_without_icrc, 1u);
  EXPECT_FALSE(port_.reserve_to(kOwnMac).may_lack_icrc());
  EXPECT_FALSE(port_.reserve().empty());
  EXPECT_FALSE(port_.reserve_to(Mac::broadcast()).may_lack_icrc());
}

TEST_F(LoopbackAlone, DropsAndCountsFramesToOthersAndThoseThatLookForNeighbors) {
  EXPECT_TRUE(send(port_, sent_frame(1)));
  EXPECT_TRUE(send(port_, arp_request()));
  EXPECT_TRUE(send(port_, neighbor_solicitation()));
  EXPECT_THAT(receive(port_), IsEmpty());
  EXPECT_EQ(port_.statistics().dropped_frames, 3u);
  EXPECT_EQ(port_.statistics().sent_frames, 0u);
}

TEST_F(LoopbackAlone, BringsBackWhatIsSentToGroups) {
  const Bytes to_group = frame_between(Mac{{0x01, 0x50, 0x56, 0, 0, 1}}, kOwnMac, 14, 3);
  send(port_, to_group);
  send(port_, frame_between(Mac::broadcast(), kOwnMac, 64, 2));
  EXPECT_THAT(receive(port_), ElementsAre(to_group, frame_between(Mac::broadcast(), kOwnMac, 64, 2)));
}

TEST_F(LoopbackAlone, HasNoRoomWhileItsRingIsFullAndAgainAfterReceiving) {
  for (std::size_t i = 0; i < LoopbackPort::kSlots; ++i) {
    ASSERT_TRUE(send(port_, frame_to_self(static_cast<std::uint8_t>(i)))) << i;
  }
  EXPECT_TRUE(port_.reserve().empty());
  EXPECT_EQ(receive(port_, 10).size(), 10u);
  EXPECT_TRUE(port_.reserve().empty()) << "the frames just received may still be read";
  EXPECT_EQ(receive(port_, 1).size(), 1u);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(send(port_, frame_to_self(0)));
  EXPECT_TRUE(port_.reserve().empty());
}

TEST_F(LoopbackAlone, KeepsReceivedFramesValidUntilTheNextReceive) {
  send(port_, frame_to_self(1));
  std::array<nic::ReceivedFrame, 4> frames;
  ASSERT_EQ(port_.receive(frames), 1u);
  for (std::size_t i = 1; i < LoopbackPort::kSlots; ++i) ASSERT_TRUE(send(port_, frame_to_self(0xee, 1500)));
  EXPECT_FALSE(send(port_, frame_to_self(0xee, 1500)));
  EXPECT_EQ(Bytes(frames[0].begin(), frames[0].end()), frame_to_self(1));
}

TEST_F(LoopbackAlone, GivesTheSameRoomUntilItIsUsed) {
  const auto room = port_.reserve();
  EXPECT_EQ(room.size(), 1500u);
  EXPECT_EQ(port_.reserve().data(), room.data());
}

TEST_F(LoopbackAlone, GoesAroundItsRingManyTimes) {
  for (std::uint32_t i = 0; i < 10 * LoopbackPort::kSlots + 3; ++i) {
    const auto n = static_cast<std::uint8_t>(i);
    ASSERT_TRUE(send(port_, frame_to_self(n)));
    ASSERT_TRUE(send(port_, frame_to_self(n, 1000)));
    ASSERT_THAT(receive(port_), ElementsAre(frame_to_self(n), frame_to_self(n, 1000)));
  }
}

TEST_F(LoopbackAlone, WakesASleeperForFramesToItself) {
  EXPECT_FALSE(port_.arm());
  EXPECT_FALSE(is_readable(port_.wake_fd()));
  send(port_, frame_to_self(1));
  EXPECT_TRUE(is_readable(port_.wake_fd()));
  port_.disarm();
  EXPECT_FALSE(is_readable(port_.wake_fd()));
}

TEST_F(LoopbackAlone, RefusesToSleepWhileFramesWait) {
  send(port_, frame_to_self(1));
  EXPECT_TRUE(port_.arm());
  port_.disarm();
  receive(port_);
  EXPECT_FALSE(port_.arm());
}

TEST_F(LoopbackAlone, WakesNobodyWhoIsNotAsleep) {
  send(port_, frame_to_self(1));
  EXPECT_FALSE(is_readable(port_.wake_fd()));
}

TEST_F(LoopbackWithWire, TellsPeersAndAsksThemWhereProgramsPoll) {
  wire_->poller_of_peer = 5;
  port_.note_poller(3);
  EXPECT_EQ(wire_->poller, 3u);
  EXPECT_TRUE(port_.has_poller_on(5));
  EXPECT_FALSE(port_.has_poller_on(3));
}

TEST_F(LoopbackWithWire, AwaitsTheTurnOfWhomTheWireAwaits) {
  wire_->station_without_turn = kPeerMac;
  EXPECT_TRUE(port_.is_awaiting_turn_of(kPeerMac));
  EXPECT_FALSE(port_.is_awaiting_turn_of(kOwnMac));
}

TEST_F(LoopbackAlone, IsDrainedWhenItsRingIsEmpty) {
  EXPECT_TRUE(port_.is_drained());
  send(port_, frame_to_self(1));
  EXPECT_FALSE(port_.is_drained());
  receive(port_);
  EXPECT_TRUE(port_.is_drained());
}

TEST_F(LoopbackAlone, CountsWhatPassesItself) {
  send(port_, frame_to_self(1, 100));
  send(port_, frame_to_self(2, 60));
  receive(port_, 1);
  EXPECT_EQ(port_.statistics().sent_frames, 2u);
  EXPECT_EQ(port_.statistics().sent_bytes, 160u);
  EXPECT_EQ(port_.statistics().received_frames, 1u);
  EXPECT_EQ(port_.statistics().received_bytes, 100u);
}

TEST_F(LoopbackWithWire, SendsFramesToOthersAndThoseThatLookForNeighborsByTheWireAlone) {
  for (const Bytes& frame : {sent_frame(1), arp_request(), neighbor_solicitation()}) send(port_, frame);
  EXPECT_THAT(wire_->sent, ElementsAre(sent_frame(1), arp_request(), neighbor_solicitation()));
  EXPECT_THAT(receive(port_), IsEmpty());
}

TEST_F(LoopbackWithWire, SendsFramesToGroupsBothWays) {
  const Bytes to_group = frame_between(Mac{{0x33, 0x33, 0, 0, 0, 1}}, kOwnMac, 64, 3);
  send(port_, to_group);
  EXPECT_THAT(wire_->sent, ElementsAre(to_group));
  EXPECT_THAT(receive(port_), ElementsAre(to_group));
}

TEST_F(LoopbackWithWire, KeepsFramesToItselfOffTheWire) {
  send(port_, frame_to_self(1));
  send(port_, sent_frame(2));
  EXPECT_THAT(receive(port_), ElementsAre(frame_to_self(1)));
  EXPECT_THAT(wire_->sent, ElementsAre(sent_frame(2)));
}

TEST_F(LoopbackWithWire, HasRoomForOthersWhileItsRingIsFull) {
  for (std::size_t i = 0; i < LoopbackPort::kSlots; ++i) ASSERT_TRUE(send(port_, frame_to_self(1)));
  EXPECT_EQ(port_.reserve_to(kOwnMac).refusal(), nic::Room::Refusal::kStation);
  EXPECT_EQ(port_.reserve_to(Mac::broadcast()).refusal(), nic::Room::Refusal::kShared);
  const Bytes frame = sent_frame(2);
  const nic::Room room = port_.reserve_to(kPeerMac);
  ASSERT_FALSE(room.empty());
  std::ranges::copy(frame, room.bytes().begin());
  port_.commit(frame.size());
  EXPECT_THAT(wire_->sent, ElementsAre(frame));
}

TEST_F(LoopbackWithWire, LetsNeitherSideStarveTheOther) {
  for (int i = 0; i < 100; ++i) {
    send(port_, frame_to_self(1));
    wire_->to_receive.push_back(received_frame(2));
  }
  const auto frames = receive(port_, 32);
  EXPECT_EQ(std::count(frames.begin(), frames.end(), frame_to_self(1)), 16);
  EXPECT_EQ(std::count(frames.begin(), frames.end(), received_frame(2)), 16);
}

TEST_F(LoopbackWithWire, FillsTheCallersRoomFromEitherSide) {
  for (int i = 0; i < 40; ++i) send(port_, frame_to_self(1));
  EXPECT_EQ(receive(port_, 32).size(), 32u);
  for (int i = 0; i < 40; ++i) wire_->to_receive.push_back(received_frame(2));
  EXPECT_EQ(receive(port_, 32).size(), 32u);
}

TEST_F(LoopbackWithWire, HasNoRoomWhenTheWireHasNone) {
  wire_->room = 0;
  EXPECT_TRUE(port_.reserve().empty());
}

TEST_F(LoopbackWithWire, SleepsAndWakesWithTheWire) {
  EXPECT_FALSE(port_.arm());
  EXPECT_TRUE(wire_->is_armed);
  EXPECT_FALSE(is_readable(port_.wake_fd()));
  wire_->wake();
  EXPECT_TRUE(is_readable(port_.wake_fd()));
  port_.disarm();
  EXPECT_FALSE(wire_->is_armed);

  wire_->to_receive.push_back(received_frame(1));
  EXPECT_TRUE(port_.arm());
}

TEST_F(LoopbackWithWire, WakesASleeperForFramesToItself) {
  port_.arm();
  send(port_, frame_to_self(1));
  EXPECT_TRUE(is_readable(port_.wake_fd()));
  port_.disarm();
  EXPECT_FALSE(is_readable(port_.wake_fd()));
}

TEST_F(LoopbackWithWire, IsPolledWhenTheWireHasToBe) {
  auto wire = std::make_shared<FakePort::Outside>();
  close(std::exchange(wire->wake_fd, -1));
  EXPECT_EQ(LoopbackPort(kOwnMac, std::make_unique<FakePort>(wire), 1500).wake_fd(), -1);
}

TEST_F(LoopbackWithWire, SpeaksForTheWireToo) {
  EXPECT_EQ(port_.max_frame_bytes(), 2000u);
  EXPECT_EQ(port_.description(), "fake");
  port_.write_out();
  EXPECT_EQ(wire_->written_out, 1);
  wire_->is_drained = false;
  EXPECT_FALSE(port_.is_drained());
  port_.flush();
  EXPECT_EQ(wire_->flushes, 1u);
  send(port_, frame_to_self(1, 100));
  EXPECT_EQ(port_.statistics().sent_frames, 3001u);
  EXPECT_EQ(port_.statistics().sent_bytes, 4100u);
  EXPECT_EQ(port_.statistics().received_frames, 1000u);
  EXPECT_EQ(port_.statistics().dropped_frames, 5u);
}

}  // namespace
}  // namespace urnic::drivers::test
