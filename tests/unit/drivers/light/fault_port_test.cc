// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/fault_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string_view>

#include "tests/unit/drivers/light/fake_port.h"
#include "tools/simulation/kernel/clock.h"

namespace urnic::drivers::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

struct Rig {
  explicit Rig(std::string_view spec)
      : outside(std::make_shared<FakePort::Outside>()),
        port(std::make_unique<FakePort>(outside), FaultSpec::parse(spec).value(), clock) {}

  void send_numbered(std::uint8_t first, std::uint8_t last) {
    for (unsigned n = first; n <= last; ++n) {
      EXPECT_TRUE(send(port, sent_frame(static_cast<std::uint8_t>(n))));
    }
    port.flush();
  }
  std::vector<Bytes> receive_numbered(std::uint8_t first, std::uint8_t last, std::size_t most = 32) {
    for (unsigned n = first; n <= last; ++n) {
      outside->to_receive.push_back(received_frame(static_cast<std::uint8_t>(n)));
    }
    return receive(port, most);
  }

  kernel::Clock clock{std::chrono::hours(1)};
  std::shared_ptr<FakePort::Outside> outside;
  FaultPort port;
};

/// The numbers that frames of the builders above were filled with.
std::vector<int> numbers(const std::vector<Bytes>& frames) {
  std::vector<int> result;
  for (const Bytes& frame : frames) result.push_back(std::to_integer<int>(frame.back()));
  return result;
}

int differing_bits(const Bytes& a, const Bytes& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += std::popcount(std::to_integer<unsigned>(a[i] ^ b[i]));
  return count;
}

TEST(FaultPort, PassesEverythingWhenNothingIsToHappen) {
  Rig rig("seed=1");
  rig.send_numbered(1, 20);
  ASSERT_EQ(rig.outside->sent.size(), 20u);
  EXPECT_EQ(rig.outside->sent[7], sent_frame(8));
  EXPECT_EQ(rig.receive_numbered(1, 20).size(), 20u);
}

TEST(FaultPort, WantsWholeAndSingleFrames) {
  Rig rig("loss=1");
  rig.outside->is_shared_memory = true;
  EXPECT_FALSE(rig.port.reserve_to(kPeerMac).empty());
  EXPECT_FALSE(rig.port.reserve_to(kPeerMac).may_lack_icrc());
  EXPECT_TRUE(rig.port.reserve_to(kPeerMac).run().empty());
}

TEST(FaultPort, LosesEveryFrameAtProbabilityOne) {
  Rig rig("loss=1");
  rig.send_numbered(1, 10);
  EXPECT_THAT(rig.outside->sent, IsEmpty());
  EXPECT_THAT(rig.receive_numbered(1, 10), IsEmpty());
  EXPECT_EQ(rig.port.transmit_counters().lost, 10u);
  EXPECT_EQ(rig.port.receive_counters().lost, 10u);
}

TEST(FaultPort, AfflictsOnlyTheDirectionAskedFor) {
  Rig transmit("loss=1,direction=tx");
  transmit.send_numbered(1, 3);
  EXPECT_THAT(transmit.outside->sent, IsEmpty());
  EXPECT_EQ(transmit.receive_numbered(1, 3).size(), 3u);
  Rig receive("loss=1,direction=rx");
  receive.send_numbered(1, 3);
  EXPECT_EQ(receive.outside->sent.size(), 3u);
  EXPECT_THAT(receive.receive_numbered(1, 3), IsEmpty());
}

TEST(FaultPort, RepeatsEveryFrameRightBehindItself) {
  Rig rig("dup=1");
  rig.send_numbered(1, 3);
  EXPECT_THAT(numbers(rig.outside->sent), ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_EQ(rig.outside->sent[1], sent_frame(1));
  EXPECT_THAT(numbers(rig.receive_numbered(1, 3)), ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_EQ(rig.port.transmit_counters().duplicated, 3u);
  EXPECT_EQ(rig.port.receive_counters().duplicated, 3u);
}

TEST(FaultPort, KeepsRepeatsForTheNextReceiveWhenTheCallerHasNoRoom) {
  Rig rig("dup=1");
  EXPECT_THAT(numbers(rig.receive_numbered(1, 2, 2)), ElementsAre(1, 2));
  EXPECT_TRUE(rig.port.arm());
  EXPECT_THAT(numbers(rig.receive_numbered(3, 3, 2)), ElementsAre(1, 2));
  EXPECT_THAT(numbers(receive(rig.port, 1)), ElementsAre(3));
  EXPECT_THAT(numbers(receive(rig.port, 1)), ElementsAre(3));
  EXPECT_FALSE(rig.port.arm());
}

TEST(FaultPort, LetsGapFramesOvertakeAReorderedOne) {
  Rig rig("reorder=1,gap=2");
  rig.send_numbered(1, 5);
  EXPECT_THAT(numbers(rig.outside->sent), ElementsAre(1, 2, 3));  // held back: 4 and 5
  EXPECT_THAT(numbers(rig.receive_numbered(1, 5)), ElementsAre(1, 2, 3));
  EXPECT_EQ(rig.port.transmit_counters().reordered, 5u);
}

TEST(FaultPort, ChangesTheOrderAndLosesNothingWhileTrafficGoesOn) {
  Rig rig("reorder=0.3,gap=3,seed=5");
  rig.send_numbered(0, 199);
  auto sent = numbers(rig.outside->sent);
  EXPECT_FALSE(std::is_sorted(sent.begin(), sent.end()));
  EXPECT_GE(sent.size(), 196u);
  std::sort(sent.begin(), sent.end());
  EXPECT_EQ(std::unique(sent.begin(), sent.end()), sent.end());
}

TEST(FaultPort, FlipsExactlyOneBit) {
  Rig rig("corrupt=1");
  rig.send_numbered(1, 50);
  const auto received = rig.receive_numbered(1, 20);
  ASSERT_EQ(rig.outside->sent.size(), 50u);
  ASSERT_EQ(received.size(), 20u);
  for (std::uint8_t n = 1; n <= 20; ++n) {
    EXPECT_EQ(differing_bits(rig.outside->sent[n - 1u], sent_frame(n)), 1);
    EXPECT_EQ(differing_bits(received[n - 1u], received_frame(n)), 1);
  }
  EXPECT_EQ(rig.port.transmit_counters().corrupted, 50u);
  EXPECT_EQ(rig.port.receive_counters().corrupted, 20u);
}

TEST(FaultPort, CutsFramesBehindTheirEthernetHeader) {
  Rig rig("truncate=1");
  rig.send_numbered(1, 100);
  const auto received = rig.receive_numbered(1, 30);
  ASSERT_EQ(rig.outside->sent.size(), 100u);
  ASSERT_EQ(received.size(), 30u);
  const auto is_cut = testing::SizeIs(testing::AllOf(testing::Ge(14u), testing::Lt(64u)));
  EXPECT_THAT(rig.outside->sent, Each(is_cut));
  EXPECT_THAT(received, Each(is_cut));
  EXPECT_EQ(rig.port.transmit_counters().truncated, 100u);
}

TEST(FaultPort, CannotCutAFrameThatIsAllHeader) {
  Rig rig("truncate=1");
  EXPECT_TRUE(send(rig.port, sent_frame(1, 14)));
  EXPECT_THAT(rig.outside->sent, ElementsAre(testing::SizeIs(14)));
}

TEST(FaultPort, LosesAboutAsManyAsAskedFor) {
  Rig rig("loss=0.1,seed=3");
  for (int i = 0; i < 10'000; ++i) send(rig.port, sent_frame(1));
  EXPECT_NEAR(static_cast<double>(rig.port.transmit_counters().lost), 1000, 150);
}

TEST(FaultPort, DoesTheSameForTheSameSeedAndOtherwiseForAnother) {
  const auto fates = [](std::string_view spec) {
    Rig rig(spec);
    rig.send_numbered(0, 200);
    return rig.outside->sent;
  };
  const auto first = fates("loss=0.1,dup=0.1,reorder=0.1,corrupt=0.1,truncate=0.1,seed=9");
  EXPECT_EQ(first, fates("loss=0.1,dup=0.1,reorder=0.1,corrupt=0.1,truncate=0.1,seed=9"));
  EXPECT_NE(first, fates("loss=0.1,dup=0.1,reorder=0.1,corrupt=0.1,truncate=0.1,seed=10"));
}

TEST(FaultPort, SendsWhatIsDueLaterWhenThePortIsFull) {
  Rig rig("dup=1");
  rig.outside->room = 1;
  EXPECT_TRUE(send(rig.port, sent_frame(1)));
  EXPECT_THAT(numbers(rig.outside->sent), ElementsAre(1));
  EXPECT_FALSE(rig.port.is_drained());
  EXPECT_TRUE(rig.port.reserve().empty());
  rig.outside->room = 10;
  rig.port.flush();
  EXPECT_THAT(numbers(rig.outside->sent), ElementsAre(1, 1));
  EXPECT_TRUE(rig.port.is_drained());
  rig.port.write_out();
  EXPECT_EQ(rig.outside->written_out, 1);
}

TEST(FaultPort, TellsPeersAndAsksThemWhereProgramsPoll) {
  Rig rig("dup=1");
  rig.outside->poller_of_peer = 5;
  rig.port.note_poller(3);
  EXPECT_EQ(rig.outside->poller, 3u);
  EXPECT_TRUE(rig.port.has_poller_on(5));
  EXPECT_FALSE(rig.port.has_poller_on(3));
}

TEST(FaultPort, AwaitsTheTurnOfWhomThePortBelowAwaits) {
  Rig rig("dup=1");
  rig.outside->station_without_turn = kPeerMac;
  EXPECT_TRUE(rig.port.is_awaiting_turn_of(kPeerMac));
  EXPECT_FALSE(rig.port.is_awaiting_turn_of(kOwnMac));
}

TEST(FaultPort, DoesNotWriteIntoARoomThatTheEngineHolds) {
  Rig rig("dup=1");
  rig.outside->room = 1;
  send(rig.port, sent_frame(1));
  rig.outside->room = 10;
  const auto room = rig.port.reserve();  // sends the repeat first
  EXPECT_THAT(numbers(rig.outside->sent), ElementsAre(1, 1));
  const Bytes second = sent_frame(2);
  std::copy(second.begin(), second.end(), room.begin());
  rig.port.flush();
  EXPECT_EQ(rig.port.reserve().data(), room.data());
  rig.port.commit(second.size());
  EXPECT_THAT(numbers(rig.outside->sent), ElementsAre(1, 1, 2, 2));
}

TEST(FaultPort, KeepsReceivedFramesValidUntilTheNextReceive) {
  Rig rig("corrupt=1,dup=1");
  rig.outside->to_receive = {received_frame(1), received_frame(2), received_frame(3)};
  std::array<nic::ReceivedFrame, 16> frames;
  ASSERT_EQ(rig.port.receive(frames), 6u);
  rig.send_numbered(1, 100);
  for (std::size_t i = 0; i < 6; ++i) {
    const Bytes frame(frames[i].begin(), frames[i].end());
    EXPECT_EQ(differing_bits(frame, received_frame(static_cast<std::uint8_t>(1 + i / 2))), 1);
  }
}

TEST(FaultPort, WorksWithRoomForASingleFrame) {
  Rig rig("dup=1,corrupt=0.5,reorder=0.2,gap=1");
  for (std::uint8_t n = 0; n < 200; ++n) rig.outside->to_receive.push_back(received_frame(n));
  std::size_t received = 0;
  for (int i = 0; i < 1000; ++i) received += receive(rig.port, 1).size();
  EXPECT_GE(received, 397u);
  EXPECT_LE(received, 400u);
}

TEST(FaultPort, SpeaksForThePortBelow) {
  Rig rig("loss=0.5,seed=4");
  EXPECT_EQ(rig.port.description(), "fake, with faults loss=0.5,seed=4");
  EXPECT_EQ(rig.port.max_frame_bytes(), 2000u);
  EXPECT_EQ(rig.port.wake_fd(), rig.outside->wake_fd);
  rig.port.arm();
  EXPECT_TRUE(rig.outside->is_armed);
  rig.port.disarm();
  EXPECT_FALSE(rig.outside->is_armed);
}

}  // namespace
}  // namespace urnic::drivers::test
