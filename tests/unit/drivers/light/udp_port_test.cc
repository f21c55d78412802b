// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/udp/udp_port.h"

#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "drivers/udp/socket.h"
#include "nic/path/path.h"
#include "tests/support/own_network.h"
#include "tests/support/value_of.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc_identification.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;
namespace wire = transport::wire;
using wire::Gid;

[[maybe_unused]] const auto* const kOwnNetwork =
    testing::AddGlobalTestEnvironment(new urnic::test::OwnNetwork);

constexpr std::uint16_t kLinkMtu = 4200;
constexpr unsigned kLoopback = 1;

/// An address of the loopback network that no other process of this test has.
Gid own_address(unsigned number) {
  const auto process = static_cast<unsigned>(getpid());
  return Gid::from_ipv4(
      {{127, static_cast<std::uint8_t>(64 + (process >> 15 & 63)), static_cast<std::uint8_t>(process >> 7),
        static_cast<std::uint8_t>((process << 1 & 0xfe) + number)}});
}

std::vector<nic::HostAddress> on_loopback(const std::vector<Gid>& gids) {
  std::vector<nic::HostAddress> addresses;
  for (const Gid& gid : gids)
    addresses.push_back({.gid = gid, .interface = "lo", .interface_index = kLoopback});
  return addresses;
}

std::unique_ptr<UdpPort> open_port(const std::vector<Gid>& addresses, bool may_segment = true) {
  return urnic::test::value_of(
      UdpPort::open({.addresses = on_loopback(addresses), .link_mtu = kLinkMtu, .may_segment = may_segment}));
}

/// Where packets of one queue pair go.
nic::Path path_to(const Gid& destination, const Gid& source, const nic::AddressVector& more = {},
                  std::uint32_t qp = 0x11) {
  nic::AddressVector address = more;
  address.destination = destination;
  return nic::Path::make(address, {source}, {.medium = nic::Medium::kIp}, transport::QpNumber(qp),
                         transport::QpNumber(0x12));
}

/// Commits an InfiniBand packet of `bytes` to that queue pair, each byte but its number's `fill`. The whole
/// IP packet.
Bytes commit(UdpPort& port, nic::Path& path, std::size_t bytes, std::uint8_t fill, std::uint32_t qp = 0x12) {
  const std::span<std::byte> room = port.reserve_to({}).bytes();
  if (room.empty()) urnic::test::end_test("the port has no room");
  std::fill_n(room.begin() + static_cast<std::ptrdiff_t>(path.header_bytes()), bytes, std::byte{fill});
  wire::store_u24(room, path.header_bytes() + 5, qp);
  const std::size_t length = path.encapsulate(room, {.size = static_cast<std::uint32_t>(bytes)}, {});
  const Bytes packet(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(length));
  port.commit(length);
  return packet;
}

/// What came until there were `count`, or nothing more for two seconds.
std::vector<Bytes> receive(UdpPort& port, std::size_t count) {
  std::vector<Bytes> all;
  while (all.size() < count) {
    pollfd waiting{.fd = port.wake_fd(), .events = POLLIN, .revents = 0};
    if (!port.arm() && poll(&waiting, 1, 2000) <= 0) break;
    std::array<nic::ReceivedFrame, 16> burst;
    const std::size_t received = port.receive(burst);
    for (std::size_t i = 0; i < received; ++i) all.emplace_back(burst[i].begin(), burst[i].end());
  }
  return all;
}

bool is_silent(UdpPort& port) {
  pollfd waiting{.fd = port.wake_fd(), .events = POLLIN, .revents = 0};
  return !port.arm() && poll(&waiting, 1, 50) == 0;
}

wire::Frame taken_apart(const Bytes& packet) {
  return urnic::test::value_of(wire::parse_ip_packet(packet));
}

/// Which identification the ICRC is for; nothing when it is damaged.
std::optional<std::uint16_t> identification_of(const Bytes& packet) {
  const wire::Frame frame = taken_apart(packet);
  wire::IcrcIdentification identifications;
  return identifications.find(frame.expected_icrc() ^ frame.icrc,
                              wire::IcrcIdentification::bytes_behind(wire::Ipv4::kMinBytes, frame.ib.size()));
}

class UdpPortTest : public testing::Test {
 protected:
  const Gid here_ = own_address(0);
  const Gid there_ = own_address(1);
  std::unique_ptr<UdpPort> sender_ = open_port({here_});
  std::unique_ptr<UdpPort> receiver_ = open_port({there_});
};

TEST_F(UdpPortTest, MovesAnIpv4PacketWithEverythingThatItsHeadersSay) {
  nic::Path path = path_to(there_, here_, {.destination = {}, .hop_limit = 17, .traffic_class = 0x6a});
  const Bytes sent = commit(*sender_, path, 24, 0x5a);
  sender_->flush();
  const auto received = receive(*receiver_, 1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0], sent);  // its UDP checksum is the kernel's, and not shown
  EXPECT_TRUE(sender_->is_drained());
  EXPECT_EQ(sender_->statistics().sent_frames, 1u);
  EXPECT_EQ(sender_->statistics().sent_bytes, sent.size());
  EXPECT_EQ(receiver_->statistics().received_frames, 1u);
  EXPECT_EQ(receiver_->statistics().received_bytes, sent.size());
}

TEST_F(UdpPortTest, MovesAnIpv6PacketLikewise) {
  const Gid loopback = Gid::parse("::1").value();
  const auto port = open_port({loopback});
  if (port == nullptr) GTEST_SKIP() << "::1 or its port 4791 is not available";
  nic::Path path = path_to(loopback, loopback, {.destination = {}, .hop_limit = 17, .traffic_class = 0x6a});
  const Bytes sent = commit(*port, path, 24, 0x5a);
  port->flush();
  const auto received = receive(*port, 1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0], sent);
}

// As rdma_rxe and hardware send them.
TEST_F(UdpPortTest, TakesIpv6DatagramsWithoutChecksum) {
  const Gid loopback = Gid::parse("::1").value();
  const auto port = open_port({loopback});
  if (port == nullptr) GTEST_SKIP() << "::1 or its port 4791 is not available";
  const auto stranger = open_udp_socket(loopback, 50001, kLoopback);
  ASSERT_TRUE(stranger);
  ASSERT_TRUE(sys_setsockopt(stranger.value().get(), IPPROTO_UDP, UDP_NO_CHECK6_TX, 1));
  const SocketAddress to(loopback, wire::kRocePort, kLoopback);
  const Bytes any(30, std::byte{7});
  sendto(stranger.value().get(), any.data(), any.size(), 0, to.get(), to.bytes());
  EXPECT_EQ(receive(*port, 1).size(), 1u);
}

TEST_F(UdpPortTest, SendsPacketsOfOneSizeAsSegmentsWhoseIcrcsAreForTheirIdentifications) {
  nic::Path path = path_to(there_, here_);
  constexpr std::size_t kPackets = 12;
  std::vector<Bytes> sent;
  for (std::uint8_t i = 0; i < kPackets; ++i)
    sent.push_back(commit(*sender_, path, i + 1u == kPackets ? 100 : 1000, i));
  sender_->flush();
  const auto received = receive(*receiver_, kPackets);
  ASSERT_EQ(received.size(), kPackets);
  for (std::size_t i = 0; i < kPackets; ++i) {
    EXPECT_EQ(identification_of(received[i]), i);
    // All but the ICRC is the same.
    EXPECT_TRUE(std::equal(sent[i].begin(), sent[i].end() - 4, received[i].begin(), received[i].end() - 4));
  }
}

// The kernel gives segments as one message. Where they lie depends on what came before.
TEST_F(UdpPortTest, TakesSegmentsAndSinglePacketsOfAllSizesInAnyOrder) {
  nic::Path path = path_to(there_, here_);
  std::mt19937 dice(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<Bytes> sent;
    for (std::size_t runs = 1 + dice() % 3; runs > 0; --runs) {
      const std::size_t bytes = 4 * (3 + dice() % (dice() % 2 == 0 ? 20 : 1000));
      for (std::size_t packets = 1 + dice() % 14; packets > 0; --packets) {
        sent.push_back(commit(*sender_, path, bytes, static_cast<std::uint8_t>(dice())));
      }
    }
    sender_->flush();
    const auto received = receive(*receiver_, sent.size());
    ASSERT_EQ(received.size(), sent.size()) << "round " << round;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      ASSERT_EQ(received[i].size(), sent[i].size()) << "round " << round << ", packet " << i;
      ASSERT_TRUE(std::equal(sent[i].begin(), sent[i].end() - 4, received[i].begin(), received[i].end() - 4));
      ASSERT_TRUE(identification_of(received[i])) << "round " << round << ", packet " << i;
    }
  }
  EXPECT_EQ(receiver_->statistics().dropped_frames, 0u);
}

TEST_F(UdpPortTest, SendsEachPacketWithIdentificationZeroWhereSegmentsAreNotAllowed) {
  sender_ = nullptr;
  sender_ = open_port({here_}, false);
  nic::Path path = path_to(there_, here_);
  for (std::uint8_t i = 0; i < 5; ++i) commit(*sender_, path, 1000, i);
  sender_->flush();
  const auto received = receive(*receiver_, 5);
  ASSERT_EQ(received.size(), 5u);
  for (const Bytes& packet : received) EXPECT_EQ(identification_of(packet), 0);
}

TEST_F(UdpPortTest, KeepsTheOrderOfPacketsToSeveralPeersFromSeveralQueuePairs) {
  const Gid also_there = own_address(2);
  const auto other = open_port({also_there});
  nic::Path paths[] = {path_to(there_, here_), path_to(also_there, here_, {}, 0x21),
                       path_to(there_, here_, {}, 0x31)};
  for (std::uint8_t i = 0; i < 60; ++i) commit(*sender_, paths[i % 3], 64, i);
  sender_->flush();
  const auto first = receive(*receiver_, 40);
  const auto second = receive(*other, 20);
  ASSERT_EQ(first.size(), 40u);
  ASSERT_EQ(second.size(), 20u);
  const auto fill_of = [](const Bytes& packet) { return std::to_integer<unsigned>(packet[40]); };
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(fill_of(second[i]), 3 * i + 1);
  // From one socket to one peer in order; from two sockets in any.
  for (const unsigned remainder : {0u, 2u}) {
    unsigned next = remainder;
    for (const Bytes& packet : first) {
      if (fill_of(packet) % 3 != remainder) continue;
      EXPECT_EQ(fill_of(packet), next);
      next += 3;
    }
  }
}

TEST_F(UdpPortTest, LeavesByRocesPortWhereAnotherProgramHasTheSourcePort) {
  nic::Path path = path_to(there_, here_);
  Bytes probe(path.header_bytes() + 12 + 4);
  path.encapsulate(probe, {.size = 12}, {});
  const auto taken = open_udp_socket(here_, taken_apart(probe).udp.source_port, kLoopback);
  ASSERT_TRUE(taken);
  commit(*sender_, path, 24, 1);
  commit(*sender_, path, 24, 2);
  sender_->flush();
  const auto received = receive(*receiver_, 2);
  ASSERT_EQ(received.size(), 2u);
  for (const Bytes& packet : received) {
    EXPECT_EQ(taken_apart(packet).udp.source_port, wire::kRocePort);
    EXPECT_TRUE(identification_of(packet));
  }
}

// RoCE's port of another address would not do.
TEST_F(UdpPortTest, LeavesByRocesPortOfTheAddressItComesFrom) {
  const Gid also_here = own_address(2);
  sender_ = nullptr;
  sender_ = open_port({here_, also_here});
  nic::Path path = path_to(there_, also_here);
  Bytes probe(path.header_bytes() + 12 + 4);
  path.encapsulate(probe, {.size = 12}, {});
  const auto taken = open_udp_socket(also_here, taken_apart(probe).udp.source_port, kLoopback);
  ASSERT_TRUE(taken);
  commit(*sender_, path, 24, 1);
  sender_->flush();
  const auto received = receive(*receiver_, 1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(taken_apart(received[0]).source_gid(), also_here);
  EXPECT_TRUE(identification_of(received[0]));
}

TEST_F(UdpPortTest, CountsWhatTheKernelRefusesAndSendsTheRest) {
  // Nothing from the loopback network leaves the host.
  nic::Path nowhere = path_to(Gid::from_ipv4({{192, 0, 2, 1}}), here_);
  nic::Path path = path_to(there_, here_);
  for (std::uint8_t i = 0; i < 3; ++i) commit(*sender_, nowhere, 1000, i);
  for (std::uint8_t i = 0; i < 3; ++i) commit(*sender_, path, 1000, i);
  sender_->flush();
  const auto received = receive(*receiver_, 3);
  ASSERT_EQ(received.size(), 3u);
  EXPECT_TRUE(sender_->is_drained());
  EXPECT_EQ(sender_->statistics().dropped_frames, 3u);
  EXPECT_EQ(sender_->statistics().sent_frames, 3u);
  EXPECT_EQ(identification_of(received[2]), 2)
      << "segments are not to blame for a destination without a route";
}

TEST_F(UdpPortTest, CountsWhatNobodyListensTo) {
  receiver_ = nullptr;
  nic::Path path = path_to(there_, here_);
  for (std::uint8_t i = 0; i < 3; ++i) {
    commit(*sender_, path, 24, i);
    sender_->flush();
  }
  EXPECT_TRUE(sender_->is_drained());
  EXPECT_EQ(sender_->statistics().dropped_frames, 0u);
  EXPECT_GE(sender_->statistics().returned_frames, 1u);
  receiver_ = open_port({there_});
  commit(*sender_, path, 24, 9);
  sender_->flush();
  EXPECT_EQ(receive(*receiver_, 1).size(), 1u);
}

TEST_F(UdpPortTest, DropsWhatIsNoPacketOfItsOwn) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{19}, std::size_t{43}}) {
    const auto room = sender_->reserve_to({}).bytes();
    std::fill(room.begin(), room.end(), std::byte{0x45});
    sender_->commit(length);
  }
  sender_->flush();
  EXPECT_EQ(sender_->statistics().dropped_frames, 3u);
  EXPECT_EQ(sender_->statistics().sent_frames, 0u);
}

TEST_F(UdpPortTest, SendsNoSegmentsToDifferentQueuePairs) {
  // Over the loopback a buffer is not cut, and comes to one process as a whole.
  nic::Path path = path_to(there_, here_);
  for (std::uint8_t i = 0; i < 6; ++i) commit(*sender_, path, 1000, i, 0x10000u * (i / 2 + 1u));
  sender_->flush();
  const auto received = receive(*receiver_, 6);
  ASSERT_EQ(received.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(identification_of(received[i]), i % 2) << i;
}

TEST_F(UdpPortTest, DropsLongDatagramsAndEmptyOnesAndTakesShortOnes) {
  const auto stranger = open_udp_socket(here_, 50000, kLoopback);
  ASSERT_TRUE(stranger);
  const SocketAddress to(there_, wire::kRocePort, kLoopback);
  const Bytes any(kLinkMtu + 100, std::byte{7});
  sendto(stranger.value().get(), any.data(), any.size(), 0, to.get(), to.bytes());
  sendto(stranger.value().get(), any.data(), 0, 0, to.get(), to.bytes());  // a probe of rdma_cm's
  sendto(stranger.value().get(), any.data(), 1, 0, to.get(), to.bytes());
  const auto received = receive(*receiver_, 1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].size(), 29u);
  EXPECT_EQ(receiver_->statistics().dropped_frames, 1u);
}

TEST_F(UdpPortTest, JoinsGroupsAndLeavesThem) {
  const Gid group = Gid::from_ipv4({{239, 7, 7, 7}});
  ASSERT_TRUE(sender_->join(group));
  ASSERT_TRUE(receiver_->join(group));
  nic::Path path = path_to(group, here_, {.destination = {}, .hop_limit = 1});
  const Bytes sent = commit(*sender_, path, 24, 3);
  sender_->flush();
  for (UdpPort* const port : {sender_.get(), receiver_.get()}) {
    const auto received = receive(*port, 1);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0], sent);
  }
  receiver_->leave(group);
  commit(*sender_, path, 24, 4);
  sender_->flush();
  EXPECT_EQ(receive(*sender_, 1).size(), 1u);
  EXPECT_TRUE(is_silent(*receiver_));
}

TEST_F(UdpPortTest, SaysWhoMayHaveThePort) {
  const auto second = UdpPort::open({.addresses = on_loopback({here_}), .link_mtu = kLinkMtu});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EADDRINUSE);
  EXPECT_NE(second.error().message.find("rdma_rxe"), std::string::npos) << second.error().message;
}

TEST_F(UdpPortTest, SaysThatTheHostHasNoSuchAddress) {
  const auto port =
      UdpPort::open({.addresses = on_loopback({Gid::from_ipv4({{192, 0, 2, 1}})}), .link_mtu = kLinkMtu});
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, EADDRNOTAVAIL);
}

TEST_F(UdpPortTest, GoesOnWhenTheKernelTakesNoMoreForAWhile) {
  nic::Path path = path_to(there_, here_);
  // The test receives nothing, and the receiver's socket is full soon: what it does not take is lost, not
  // kept.
  std::size_t committed = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 60 && !sender_->reserve_to({}).empty(); ++i) {
      commit(*sender_, path, 4000, 1);
      ++committed;
    }
    sender_->flush();
  }
  for (int i = 0; i < 1000 && !sender_->is_drained(); ++i) {
    usleep(1000);
    sender_->flush();
  }
  EXPECT_TRUE(sender_->is_drained());
  EXPECT_EQ(sender_->statistics().sent_frames + sender_->statistics().dropped_frames, committed);
}

}  // namespace
}  // namespace urnic::drivers
