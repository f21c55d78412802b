// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// With the kernel's own sockets: what the packet filter does there is what counts.
#include "drivers/host/socket_group.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "drivers/host/packet_filter.h"
#include "tests/unit/drivers/light/host/packets.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using namespace test;
namespace cm = nic::cm;
using cm::CommunicationId;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr unsigned kSlots = 4;

/// IPv4 or IPv6.
class SocketGroupTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto group = SocketGroup::open(port_);
    ASSERT_TRUE(group) << group.error().message;
    group_.emplace(std::move(group.value()));
    if (!GetParam() && !group_->has_ipv6()) GTEST_SKIP() << "this host has no IPv6";
    while (group_->slots() < kSlots) ASSERT_TRUE(group_->grow());
  }

  /// Which slot's socket gets the datagram.
  std::optional<unsigned> slot_of(std::span<const std::byte> datagram) {
    sender_.send(datagram, port_);
    std::vector<pollfd> sockets;
    for (unsigned slot = 0; slot < group_->slots(); ++slot) {
      sockets.push_back(
          {.fd = GetParam() ? group_->ipv4(slot) : group_->ipv6(slot), .events = POLLIN, .revents = 0});
    }
    if (poll(sockets.data(), sockets.size(), 1000) != 1) return std::nullopt;
    for (unsigned slot = 0; slot < sockets.size(); ++slot) {
      if (sockets[slot].revents == 0) continue;
      Bytes received(2000);
      received.resize(static_cast<std::size_t>(recv(sockets[slot].fd, received.data(), received.size(), 0)));
      EXPECT_TRUE(std::ranges::equal(received, datagram));
      return slot;
    }
    return std::nullopt;
  }
  std::optional<unsigned> slot_of_message(const cm::Message& message) {
    return slot_of(packet_with(message));
  }

  const std::uint16_t port_ = free_udp_port();
  const LocalSender sender_{GetParam()};
  std::optional<SocketGroup> group_;
};

TEST_P(SocketGroupTest, GivesAPacketToTheSlotOfItsQueuePair) {
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    EXPECT_THAT(slot_of(packet_to(slot << 16 | 0x11)), Optional(slot));
    EXPECT_THAT(slot_of(packet_to(slot << 16 | 0xffff)), Optional(slot));
  }
  EXPECT_THAT(slot_of(packet_to(0)), Optional(0u));
  EXPECT_THAT(slot_of(packet_to(2)), Optional(0u));
  // The queue pair's number alone counts, and not the flags in front of it.
  Bytes marked = packet_to(0x020011);
  marked[4] = std::byte{0xff};
  EXPECT_THAT(slot_of(marked), Optional(2u));
  // 1 in other bytes than the last one is no management.
  EXPECT_THAT(slot_of(packet_to(0x010001)), Optional(1u));
  EXPECT_THAT(slot_of(packet_to(0x030001)), Optional(3u));
}

TEST_P(SocketGroupTest, GivesTheRestToSocketZero) {
  EXPECT_THAT(slot_of(packet_to(kSlots << 16 | 0x11)), Optional(0u));
  EXPECT_THAT(slot_of(packet_to(0xff0011)), Optional(0u));
  EXPECT_THAT(slot_of(packet_to(0xffffff)), Optional(0u));
}

TEST_P(SocketGroupTest, GivesAllMessagesOfConnectionManagersToSocketZero) {
  constexpr CommunicationId kRemote{0x01000001};
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    const CommunicationId own{slot << 24 | 0x123456};
    EXPECT_THAT(slot_of_message(cm::Rep{.local_id = kRemote, .remote_id = own}), Optional(0u));
    EXPECT_THAT(slot_of_message(cm::Rtu{.local_id = kRemote, .remote_id = own}), Optional(0u));
    EXPECT_THAT(slot_of_message(cm::Rej{.local_id = kRemote, .remote_id = own}), Optional(0u));
    EXPECT_THAT(slot_of_message(cm::Mra{.local_id = kRemote, .remote_id = own}), Optional(0u));
    EXPECT_THAT(slot_of_message(cm::Dreq{.local_id = kRemote, .remote_id = own}), Optional(0u));
    EXPECT_THAT(slot_of_message(cm::Drep{.local_id = kRemote, .remote_id = own}), Optional(0u));
    EXPECT_THAT(slot_of_message(cm::SidrRep{.request_id = own}), Optional(0u));
  }
}

TEST_P(SocketGroupTest, GivesRequestsToSocketZero) {
  EXPECT_THAT(slot_of_message(request_to(nic::rdma_cm::PortSpace::kTcp, 80)), Optional(0u));
  EXPECT_THAT(slot_of_message(cm::SidrReq{.request_id = CommunicationId{0x02000001}}), Optional(0u));
}

TEST_P(SocketGroupTest, GivesWhatIsTooShortToSocketZero) {
  const Bytes whole = packet_to(0x020011);
  for (std::size_t bytes = 0; bytes < 8; ++bytes) {
    EXPECT_THAT(slot_of(std::span(whole).first(bytes)), Optional(0u)) << bytes;
  }
  EXPECT_THAT(slot_of(std::span(whole).first(8)), Optional(2u));
}

TEST_P(SocketGroupTest, KeepsItsNumbersWhileItGrows) {
  while (group_->slots() < SocketGroup::kMostSlots) ASSERT_TRUE(group_->grow());
  for (const unsigned slot : {0u, 1u, 2u, 127u, 128u, 200u, 254u, 255u}) {
    EXPECT_THAT(slot_of(packet_to(slot << 16 | 0x11)), Optional(slot));
  }
}

TEST_P(SocketGroupTest, DropsWhatWaitsInASlotThatLiesStill) {
  for (int i = 0; i < 10; ++i) sender_.send(packet_to(0x020011), port_);
  group_->lay_still(2);
  char byte = 0;
  EXPECT_LT(recv(GetParam() ? group_->ipv4(2) : group_->ipv6(2), &byte, 1, MSG_DONTWAIT), 0);
}

// A second group would be one with the first for the kernel, and have other numbers than its owner thinks.
TEST_P(SocketGroupTest, DoesNotShareThePortWithAnotherGroup) {
  const auto other = SocketGroup::open(port_, 100ms);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, EADDRINUSE);
  EXPECT_THAT(other.error().message, HasSubstr("process " + std::to_string(getpid()) + " ("));
}

TEST_P(SocketGroupTest, WaitsForSocketsOfAnEarlierGroup) {
  std::thread soon([this] {
    std::this_thread::sleep_for(100ms);
    group_.reset();
  });
  const auto other = SocketGroup::open(port_);
  soon.join();
  EXPECT_TRUE(other);
}

TEST_P(SocketGroupTest, KnowsWhetherThePortWasTakenAtFirst) {
  EXPECT_FALSE(group_->was_taken());
  std::thread soon([this] {
    std::this_thread::sleep_for(100ms);
    group_.reset();
  });
  const auto other = SocketGroup::open(port_);
  soon.join();
  ASSERT_TRUE(other);
  EXPECT_TRUE(other.value().was_taken());
}

TEST(SocketGroupElsewhere, HasAPortThatIsNotGivenOutToOthers) {
  const auto group = SocketGroup::open_elsewhere();
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_GE(group.value().port(), 20'000);
  EXPECT_LT(group.value().port(), 30'000);
  const auto other = SocketGroup::open_elsewhere();
  ASSERT_TRUE(other);
  EXPECT_NE(other.value().port(), group.value().port());
}

INSTANTIATE_TEST_SUITE_P(EachIp, SocketGroupTest, testing::Values(true, false),
                         [](const auto& with) { return with.param ? "Ipv4" : "Ipv6"; });

}  // namespace
}  // namespace urnic::drivers
