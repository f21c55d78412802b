// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Ports with direct links: two NICs whose switch is the test.
#include "drivers/direct/direct_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "drivers/direct/mark.h"
#include "tests/unit/drivers/light/direct_nic.h"
#include "tests/unit/drivers/light/fake_port.h"

namespace urnic::drivers {
namespace {

using namespace test;

TEST_F(DirectPortTest, SendsAtFirstThroughTheSwitch) {
  Nic a(folder, kA);
  a.send(kB, 1);
  EXPECT_EQ(a.on_wire(), std::vector{1});
}

TEST_F(DirectPortTest, MakesALinkWhenTwoTalk) {
  Nic a(folder, kA), b(folder, kB);
  link(a, b);
  a.send(kB, 77);
  EXPECT_EQ(a.on_wire(), std::vector<int>()) << "no frame goes through the switch any more";
  a.forward_to(b);
  EXPECT_EQ(b.receive(), std::vector{77});
}

TEST_F(DirectPortTest, LeavesTheIcrcOutOnALink) {
  Nic a(folder, kA, 10s, nic::Medium::kEthernet, true), b(folder, kB);
  EXPECT_FALSE(a.port().reserve_to(kB).may_lack_icrc()) << "this is the switch's";
  link(a, b);
  EXPECT_TRUE(a.port().reserve_to(kB).may_lack_icrc());
  EXPECT_FALSE(a.port().reserve_to(kBroadcast).may_lack_icrc());
}

TEST_F(DirectPortTest, LeavesNoIcrcOutWhereTheOtherNicMustHaveIt) {
  Nic a(folder, kA), b(folder, kB, 10s, nic::Medium::kEthernet, true);
  link(a, b);
  EXPECT_FALSE(a.port().reserve_to(kB).may_lack_icrc());
  EXPECT_TRUE(a.port().reserve_to(kB).run().empty()) << "they have no ICRC";
}

TEST_F(DirectPortTest, CarriesRunsOnALinkThatNeedsNoIcrc) {
  Nic a(folder, kA), b(folder, kB);
  EXPECT_TRUE(a.port().reserve_to(kB).run().empty()) << "this is the switch's";
  link(a, b);
  const nic::Room room = a.port().reserve_to(kB);
  ASSERT_GT(room.run().size(), room.size());
  const std::size_t length = room.run().size() - 5;
  std::fill_n(room.run().begin(), length, std::byte{9});
  const auto sent = a.port().statistics().sent_frames;
  const auto received = b.port().statistics().received_frames;
  a.port().commit_run(length, {.mtu = transport::PathMtu::k1024, .packets = 8});
  a.port().flush();
  a.forward_to(b);
  std::array<nic::ReceivedFrame, 32> frames;
  std::size_t count = 0;
  ASSERT_TRUE(until([&] { return (count = b.port().receive(frames)) > 0; }));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(frames[0].size(), length);
  EXPECT_EQ(frames[0].shape().mtu, transport::PathMtu::k1024);
  EXPECT_EQ(a.port().statistics().sent_frames, sent + 8);
  EXPECT_EQ(b.port().statistics().received_frames, received + 8);
}

TEST_F(DirectPortTest, LetsNoFrameOvertakeThoseInTheSwitch) {
  Nic a(folder, kA), b(folder, kB);
  talk(a, b);
  a.send(kB, 77);
  EXPECT_EQ(a.on_wire(), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(b.receive(), std::vector<int>()) << "the switch has not forwarded the first ones yet";
  a.forward_to(b);
  EXPECT_EQ(b.receive(), (std::vector{0, 1, 2, 3, 77}));
}

TEST_F(DirectPortTest, DoesNotWaitForAMarkForEver) {
  Nic a(folder, kA), b(folder, kB);
  talk(a, b);
  a.send(kB, 77);
  a.wire().sent.clear();  // the switch loses the mark
  EXPECT_TRUE(until([&] { return b.receive() == std::vector{77}; }));
}

TEST_F(DirectPortTest, SendsToGroupsThroughTheSwitch) {
  Nic a(folder, kA), b(folder, kB);
  link(a, b);
  a.send(kBroadcast, 5);
  const auto room = a.port().reserve();
  const Bytes frame = frame_between(kB, kA, 64, 6);
  std::copy(frame.begin(), frame.end(), room.begin());
  a.port().commit(frame.size());
  EXPECT_EQ(a.on_wire(), (std::vector{5, 6})) << "nor is it known in time where a raw packet goes";
}

TEST_F(DirectPortTest, MakesLinksToStationsThatItTalksWithInTurn) {
  constexpr Mac kC{{2, 0, 0, 0, 0, 0xb + 64}};
  Nic a(folder, kA), b(folder, kB), c(folder, kC);
  for (int i = 0; i < kConversation; ++i) {
    a.send(kB, 1);
    a.send(kC, 1);
  }
  EXPECT_TRUE(until([&] {
    a.receive();
    return a.port().sending_links() == 2;
  }));
}

TEST_F(DirectPortTest, HasNoLinkToWhoListensNowhere) {
  Nic a(folder, kA);
  for (int i = 0; i < 100; ++i) a.send(kB, 1);
  std::this_thread::sleep_for(20ms);
  a.receive();
  EXPECT_EQ(a.port().sending_links(), 0u);
  EXPECT_EQ(a.on_wire().size(), 100u);
}

TEST_F(DirectPortTest, HoldsFramesBackWhileTheOtherTakesNone) {
  Nic a(folder, kA), b(folder, kB);
  link(a, b);
  int taken = 0;
  while (!a.port().reserve_to(kB).empty()) {
    a.send(kB, static_cast<std::uint8_t>(taken));
    ASSERT_LT(++taken, 10'000);
  }
  EXPECT_FALSE(a.port().is_drained());
  std::vector<int> all;
  while (static_cast<int>(all.size()) < taken) {
    const auto some = b.receive();
    ASSERT_FALSE(some.empty());
    all.insert(all.end(), some.begin(), some.end());
  }
  for (int i = 0; i < taken; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i % 256);
  b.receive();
  EXPECT_TRUE(a.port().is_drained());
  EXPECT_FALSE(a.port().reserve_to(kB).empty());
}

TEST_F(DirectPortTest, HasRoomForOthersWhileOneTakesNone) {
  constexpr Mac kC{{2, 0, 0, 0, 0, 0xc}};
  Nic a(folder, kA), b(folder, kB), c(folder, kC);
  link(a, b);
  for (int i = 0; i < kConversation; ++i) a.send(kC, 0);
  ASSERT_TRUE(until([&] {
    a.receive();
    return a.port().sending_links() == 2;
  }));
  while (!a.port().reserve_to(kB).empty()) a.send(kB, 1);
  EXPECT_EQ(a.port().reserve_to(kB).refusal(), nic::Room::Refusal::kStation);
  EXPECT_FALSE(a.port().reserve_to(kC).empty());
  EXPECT_FALSE(a.port().reserve_to(kBroadcast).empty());

  a.send(kC, 2);  // and the mark, which the wire takes
  a.wire().room = 0;
  EXPECT_EQ(a.port().reserve_to(kBroadcast).refusal(), nic::Room::Refusal::kShared);
  EXPECT_FALSE(a.port().reserve_to(kC).empty());
}

TEST_F(DirectPortTest, CallsAStationStalledThatTakesNothingForLong) {
  Nic a(folder, kA), b(folder, kB);
  link(a, b);
  while (!a.port().reserve_to(kB).empty()) a.send(kB, 1);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(until([&] { return a.port().reserve_to(kB).refusal() == nic::Room::Refusal::kStalled; }));
  EXPECT_GT(std::chrono::steady_clock::now() - begin, 400ms);
  while (!b.receive(1000).empty()) continue;
  EXPECT_FALSE(a.port().reserve_to(kB).empty());
  while (!a.port().reserve_to(kB).empty()) a.send(kB, 1);
  EXPECT_EQ(a.port().reserve_to(kB).refusal(), nic::Room::Refusal::kStation);
}

TEST_F(DirectPortTest, CountsWhatWentOverLinks) {
  Nic a(folder, kA), b(folder, kB);
  link(a, b);
  const auto before = a.port().statistics();
  const auto before_at_b = b.port().statistics();
  a.send(kB, 1, 500);
  b.receive();
  EXPECT_EQ(a.port().statistics().sent_frames, before.sent_frames + 1);
  EXPECT_EQ(a.port().statistics().sent_bytes, before.sent_bytes + 500);
  EXPECT_EQ(a.port().statistics().direct_links, 1u);
  EXPECT_EQ(b.port().statistics().received_frames, before_at_b.received_frames + 1);
  EXPECT_EQ(b.port().statistics().received_bytes, before_at_b.received_bytes + 500);
}

TEST_F(DirectPortTest, WakesASleeper) {
  Nic a(folder, kA), b(folder, kB);
  link(a, b);
  const auto is_readable = [&] {
    pollfd wake{.fd = b.port().wake_fd(), .events = POLLIN, .revents = 0};
    return poll(&wake, 1, 0) == 1;
  };
  ASSERT_FALSE(b.port().arm());
  EXPECT_FALSE(is_readable());
  a.send(kB, 1);
  EXPECT_TRUE(is_readable());
  b.port().disarm();
  EXPECT_EQ(b.receive(), std::vector{1});
  ASSERT_FALSE(b.port().arm());
  EXPECT_FALSE(is_readable());
  b.port().disarm();
  a.send(kB, 2);
  EXPECT_TRUE(b.port().arm()) << "a frame is there already";
}

// Both ends are in this process, which runs.
TEST_F(DirectPortTest, AwaitsTheTurnOfAPeerThatHasNotTakenWhatWasSent) {
  Nic a(folder, kA), b(folder, kB);
  EXPECT_FALSE(a.port().is_awaiting_turn_of(kB)) << "no link";
  link(a, b);
  b.receive();
  EXPECT_FALSE(a.port().is_awaiting_turn_of(kB));
  a.send(kB, 1);
  EXPECT_TRUE(a.port().is_awaiting_turn_of(kB));
  EXPECT_EQ(b.receive(), std::vector{1});
  EXPECT_FALSE(a.port().is_awaiting_turn_of(kB));
}

TEST_F(DirectPortTest, TellsPeersWhereTheProgramPolls) {
  Nic a(folder, kA), b(folder, kB);
  a.port().note_poller(3);
  link(a, b);
  EXPECT_TRUE(b.port().has_poller_on(3)) << "also what was told before";
  EXPECT_FALSE(b.port().has_poller_on(4));
  EXPECT_FALSE(a.port().has_poller_on(3)) << "that is our own program";
  a.port().note_poller(4);
  EXPECT_TRUE(b.port().has_poller_on(4));
  EXPECT_FALSE(b.port().has_poller_on(3)) << "it is elsewhere now";
}

TEST_F(DirectPortTest, AwaitsTheTurnOfAPeerThatMakesALink) {
  Nic a(folder, kA);
  SilentPeer b(folder, kB);
  for (std::uint8_t i = 1; i < kConversation; ++i) a.send(kB, i);
  EXPECT_FALSE(a.port().is_awaiting_turn_of(kB)) << "a has not yet asked b for a link";
  a.send(kB, 1);
  ASSERT_TRUE(b.is_asked());
  EXPECT_TRUE(a.port().is_awaiting_turn_of(kB));
  b.end();
  EXPECT_TRUE(until([&] {
    a.receive();
    return !a.port().is_awaiting_turn_of(kB);
  }));
}

// --- Ends ---

TEST_F(DirectPortTest, GoesBackToTheSwitchWhenTheOtherEnds) {
  Nic a(folder, kA), b(folder, kB);
  link(a, b);
  b.end();
  ASSERT_TRUE(until([&] {
    a.receive();
    return a.port().sending_links() == 0;
  }));
  a.send(kB, 9);
  EXPECT_EQ(a.on_wire(), std::vector{9});
}

TEST_F(DirectPortTest, LinksToTheOneThatComesAgain) {
  Nic a(folder, kA);
  for (int times = 0; times < 3; ++times) {
    Nic b(folder, kB);
    ASSERT_TRUE(until([&] {
      a.send(kB, 1);
      a.wire().sent.clear();
      a.receive();
      b.receive();
      return a.port().sending_links() == 1 && b.port().receiving_links() == 1;
    }));
    b.end();
    ASSERT_TRUE(until([&] {
      a.receive();
      return a.port().sending_links() == 0;
    }));
  }
}

TEST_F(DirectPortTest, ReadsWhatAnEndedOneHasWritten) {
  Nic a(folder, kA), b(folder, kB);
  link(a, b);
  a.send(kB, 1);
  a.send(kB, 2);
  a.end();
  std::vector<int> all;
  ASSERT_TRUE(until([&] {
    for (const int fill : b.receive(1)) all.push_back(fill);
    return b.port().receiving_links() == 0;
  }));
  EXPECT_EQ(all, (std::vector{1, 2}));
}

TEST_F(DirectPortTest, GivesAnUnusedLinkBack) {
  Nic a(folder, kA, 50ms), b(folder, kB);
  link(a, b);
  ASSERT_TRUE(until([&] {
    a.receive();
    b.receive();
    return a.port().sending_links() == 0 && b.port().receiving_links() == 0;
  }));
  a.send(kB, 3);
  EXPECT_EQ(a.on_wire(), std::vector{3});
}

TEST_F(DirectPortTest, KeepsALinkWhoseFramesAreNotTaken) {
  Nic a(folder, kA, 50ms), b(folder, kB);
  link(a, b);
  a.send(kB, 3);
  std::this_thread::sleep_for(300ms);
  a.receive();
  EXPECT_EQ(a.port().sending_links(), 1u) << "a frame through the switch would overtake it";
}

// Its process may have ended, while a child of it has the socket.
TEST_F(DirectPortTest, GivesALinkBackFromWhichNothingIsEverTaken) {
  Nic a(folder, kA, 50ms), b(folder, kB);
  link(a, b);
  a.send(kB, 3);
  EXPECT_TRUE(until([&] {
    a.receive();
    return a.port().sending_links() == 0;
  }));
  a.send(kB, 4);
  EXPECT_EQ(a.on_wire(), std::vector{4});
}

TEST_F(DirectPortTest, HasManyLinksAndNotMore) {
  Nic b(folder, kB);
  std::vector<std::unique_ptr<Nic>> others;
  for (std::uint8_t i = 0; i < LinkKeeper::kMaxReceiving + 3; ++i) {
    others.push_back(std::make_unique<Nic>(folder, Mac{{2, 0, 0, 0, 0, static_cast<std::uint8_t>(100 + i)}}));
    for (int n = 0; n < kConversation; ++n) others.back()->send(kB, i);
  }
  const auto linked = [&] {
    std::size_t count = 0;
    for (auto& each : others) {
      each->receive();
      count += each->port().sending_links();
    }
    b.receive();
    return count;
  };
  EXPECT_TRUE(until([&] { return linked() == LinkKeeper::kMaxReceiving; }));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(linked(), LinkKeeper::kMaxReceiving);
}

TEST_F(DirectPortTest, SaysOnceThatItHasAsManyLinksAsItMayAndCountsFurtherOnes) {
  Nic a(folder, kA);
  std::vector<std::unique_ptr<Nic>> others;
  const auto mac_of = [](std::size_t i) { return Mac{{2, 0, 0, 0, 0, static_cast<std::uint8_t>(100 + i)}}; };
  for (std::size_t i = 0; i < LinkKeeper::kMaxSending + 2; ++i) {
    others.push_back(std::make_unique<Nic>(folder, mac_of(i)));
  }
  const auto talk_to = [&](std::size_t i) {
    for (int n = 0; n < kConversation; ++n) a.send(mac_of(i), 1);
  };
  for (std::size_t i = 0; i < LinkKeeper::kMaxSending; ++i) talk_to(i);
  ASSERT_TRUE(until([&] { return a.receive(), a.port().sending_links() == LinkKeeper::kMaxSending; }));
  EXPECT_EQ(a.port().statistics().refused_links, 0u);
  EXPECT_TRUE(a.told().empty());
  for (std::size_t i = LinkKeeper::kMaxSending; i < LinkKeeper::kMaxSending + 2; ++i) talk_to(i);
  EXPECT_TRUE(until([&] { return a.receive(), a.port().statistics().refused_links == 2; }));
  ASSERT_EQ(a.told().size(), 1u);
  EXPECT_THAT(a.told().front(),
              testing::StartsWith("this NIC has direct links to 32 others, as many as it may"));
}

TEST_F(DirectPortTest, RefusesAMacThatIsTaken) {
  Nic a(folder, kA);
  std::unique_ptr<nic::PacketPort> wire =
      std::make_unique<FakePort>(std::make_shared<FakePort::Outside>(), kMaxFrame);
  const auto second = DirectPort::create(
      wire, {.own = kA, .socket_of = [this](const Mac& each) { return folder.socket_of(each); }});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EADDRINUSE);
  EXPECT_NE(wire, nullptr) << "the wire is good without links";
}

}  // namespace
}  // namespace urnic::drivers
