// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Ports with direct links around a wire that carries IP packets: NICs that share their host's address.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "nic/path/path.h"
#include "tests/unit/drivers/light/direct_nic.h"
#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

namespace urnic::drivers {
namespace {

using namespace test;

class DirectPortOverIp : public testing::Test {
 protected:
  Folder folder;
  Nic a{folder, kA, 10s, nic::Medium::kIp};
};

TEST_F(DirectPortOverIp, TakesNothingForANicOfTheSameHostUntilThereIsALink) {
  Nic b(folder, kB, 10s, nic::Medium::kIp);
  EXPECT_EQ(a.port().reserve_to(kB).refusal(), nic::Room::Refusal::kStation) << "and for it alone";
  ASSERT_TRUE(until([&] {
    b.receive();
    return !a.port().reserve_to(kB).empty();
  }));
  EXPECT_EQ(a.port().sending_links(), 1u);
  a.send(kB, 77);
  // Nothing could overtake it, so it waits for nothing: the wire may lose all, as when the host has lost an
  // address.
  EXPECT_EQ(a.wire().sent.size(), 0u);
  EXPECT_EQ(b.receive(), std::vector{77});
}

TEST_F(DirectPortOverIp, HasAMarkWhereFramesWentByTheWireBefore) {
  ASSERT_TRUE(until([&] { return !a.port().reserve_to(kB).empty(); })) << "there is no such NIC yet";
  a.send(kB, 1);
  Nic b(folder, kB, 10s, nic::Medium::kIp);
  // It asks again as it goes on.
  int sent = 1;
  ASSERT_TRUE(until([&] {
    if (a.port().sending_links() == 0) {
      a.send(kB, 1);
      ++sent;
    }
    a.receive();
    return a.port().sending_links() == 1;
  }));
  a.send(kB, 77);
  ASSERT_EQ(a.wire().sent.size(), static_cast<std::size_t>(sent) + 1);
  EXPECT_TRUE(MarkForm(nic::Medium::kIp, kSharedAddress).parse(a.wire().sent.back()));
  EXPECT_EQ(b.receive(), std::vector<int>()) << "the wire has not brought the others yet";
  a.forward_to(b);
  EXPECT_EQ(b.receive(static_cast<std::size_t>(sent) + 8).back(), 77);
}

TEST_F(DirectPortOverIp, WaitsForALostMarkLessThanAnAckTimeout) {
  ASSERT_TRUE(until([&] { return !a.port().reserve_to(kB).empty(); }));
  a.send(kB, 1);
  Nic b(folder, kB, 10s, nic::Medium::kIp);
  ASSERT_TRUE(until([&] {
    if (a.port().sending_links() == 0) a.send(kB, 1);
    a.receive();
    return a.port().sending_links() == 1;
  }));
  a.send(kB, 77);
  a.wire().sent.clear();
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(until([&] { return b.receive() == std::vector{77}; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 20ms);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 500ms) << "programs give up after 8 times 67 ms";
}

TEST_F(DirectPortOverIp, WaitsForAPeerWhoseThreadOfLinksHasNoTurn) {
  SilentPeer b(folder, kB);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(a.port().reserve_to(kB).empty());
  ASSERT_TRUE(b.is_asked());
  while (std::chrono::steady_clock::now() - began < 1500ms) {
    ASSERT_TRUE(a.port().reserve_to(kB).empty()) << "what goes by sockets gets lost there";
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_TRUE(a.port().is_awaiting_turn_of(kB));
  b.end();
  EXPECT_TRUE(until([&] { return !a.port().reserve_to(kB).empty(); }, 1s)) << "there is no such NIC any more";
}

TEST_F(DirectPortOverIp, WaitsForAMomentAndOnceOnly) {
  EXPECT_TRUE(a.port().reserve_to(kB).empty()) << "no such NIC";
  ASSERT_TRUE(until([&] { return !a.port().reserve_to(kB).empty(); }));
  a.send(kB, 1);
  a.send(kB, 2);
  EXPECT_EQ(a.wire().sent.size(), 2u);
}

TEST_F(DirectPortOverIp, DoesNotWaitForThoseOfOtherHosts) {
  EXPECT_FALSE(a.port().reserve_to(Mac{}).empty());
  EXPECT_FALSE(a.port().reserve_to(kA).empty()) << "its own";
  EXPECT_FALSE(a.port().reserve_to(kBroadcast).empty());
}

// Each look at the sockets is a system call.
TEST_F(DirectPortOverIp, LooksAtTheWireInOneRoundOfEightWhileLinksAreBusy) {
  Nic b(folder, kB, 10s, nic::Medium::kIp);
  ASSERT_TRUE(until([&] {
    b.receive();
    return !a.port().reserve_to(kB).empty();
  }));
  a.send(kB, 77);
  ASSERT_EQ(b.receive(), std::vector{77});

  std::array<nic::ReceivedFrame, 8> room;
  /// How many rounds it takes until a frame on the wire is seen, while a link has one each time or none.
  const auto rounds_until_seen = [&](std::size_t link_frames) {
    b.wire().to_receive.push_back(frame_between(kB, kA, 64, 78));
    for (int round = 1; round < 100; ++round) {
      if (link_frames > 0) a.send(kB, 77);
      if (b.port().receive(room) > link_frames) return round;
      EXPECT_TRUE(b.port().may_hold_frames()) << "the wire may have some";
    }
    return 0;
  };
  rounds_until_seen(1);
  EXPECT_EQ(rounds_until_seen(1), 8);
  EXPECT_EQ(rounds_until_seen(0), 8) << "the link had one a moment ago";
  for (int round = 0; round < 100; ++round) b.port().receive(room);
  EXPECT_EQ(rounds_until_seen(0), 1);
}

constexpr transport::QpNumber kQp{0x0b0001};

Bytes packet_to_kqp() {
  namespace wire = transport::wire;
  nic::Path path = nic::Path::make({.destination = kSharedAddress}, {kSharedAddress},
                                   {.medium = nic::Medium::kIp}, transport::QpNumber{0x0a0001}, kQp);
  Bytes bytes(200);
  const std::uint32_t size =
      wire::emit_headers({.bth = {.opcode = wire::Opcode::kRcAcknowledge, .destination_qp = kQp}},
                         std::span(bytes).subspan(path.header_bytes()));
  bytes.resize(path.encapsulate(bytes, {.size = size}, {}));
  return bytes;
}

/// B has a queue pair whose peer is A's. What comes by the wire may be from any program of the host.
class DirectPortGuard : public DirectPortOverIp {
 protected:
  DirectPortGuard() { b.port().take_only_from(kQp, kA); }

  void connect() {
    ASSERT_TRUE(until([&] {
      b.receive();
      return !a.port().reserve_to(kB).empty();
    }));
    a.send(kB, 77);
    ASSERT_EQ(b.receive(), std::vector{77});
  }
  /// How many of one frame B takes from the wire, at which it looks in one round of eight.
  std::size_t taken_from_wire() {
    b.wire().to_receive.push_back(packet_to_kqp());
    std::size_t count = 0;
    for (int round = 0; round < 8; ++round) count += test::receive(b.port()).size();
    return count;
  }

  Nic b{folder, kB, 10s, nic::Medium::kIp};
};

TEST_F(DirectPortGuard, TakesPacketsFromTheWireBeforeThereIsALink) {
  EXPECT_EQ(taken_from_wire(), 1u);
  EXPECT_EQ(b.port().statistics().foreign_frames, 0u);
}

TEST_F(DirectPortGuard, DropsPacketsFromTheWireOnceTheLinkIsOpen) {
  connect();
  EXPECT_EQ(taken_from_wire(), 0u);
  EXPECT_EQ(b.port().statistics().foreign_frames, 1u);
  b.port().take_only_from(kQp, std::nullopt);
  EXPECT_EQ(taken_from_wire(), 1u) << "the queue pair has no such peer any more";
}

TEST_F(DirectPortGuard, TakesPacketsFromTheWireAgainWhenThePeersLinkIsGivenUp) {
  Nic quick(folder, Mac{{2, 0, 0, 0, 0, 0xc}}, 20ms, nic::Medium::kIp);
  ASSERT_TRUE(until([&] {
    b.receive();
    return !quick.port().reserve_to(kB).empty();
  }));
  quick.send(kB, 78);
  ASSERT_EQ(b.receive(), std::vector{78});
  b.port().take_only_from(kQp, Mac{{2, 0, 0, 0, 0, 0xc}});
  EXPECT_EQ(taken_from_wire(), 0u);
  ASSERT_TRUE(until([&] {
    quick.receive();
    return quick.port().sending_links() == 0;
  }));
  EXPECT_EQ(taken_from_wire(), 1u)
      << "its next packet, which may be there before the end of the link is known";
}

}  // namespace
}  // namespace urnic::drivers
