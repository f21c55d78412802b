// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/host_ports.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "drivers/host/message.h"
#include "nic/rdma_cm/types.h"

namespace urnic::drivers {
namespace {

using nic::rdma_cm::IdNumber;
using nic::rdma_cm::PortSpace;
using nic::rdma_cm::SocketAddress;
using ::testing::Optional;
using ::testing::SizeIs;

constexpr auto kTcp = PortSpace::kTcp;

SocketAddress at(std::uint8_t last_octet, std::uint16_t port) {
  return {.family = SocketAddress::Family::kIpv4,
          .address = SocketAddress{}.address.from_ipv4({{10, 0, 0, last_octet}}),
          .port = port};
}

SocketAddress any_ipv6(std::uint16_t port) {
  return {.family = SocketAddress::Family::kIpv6, .address = {}, .port = port};
}

class HostPortsTest : public testing::Test {
 protected:
  int bind(unsigned slot, std::uint32_t id, const SocketAddress& address) {
    const auto bound = ports_.bind(slot, kTcp, {.id = IdNumber{id}, .address = address});
    return bound ? 0 : bound.error();
  }
  int listen(unsigned slot, std::uint32_t id, std::uint16_t port) {
    return ports_.listen(slot, kTcp, port, IdNumber{id});
  }

  HostPorts ports_{1};
};

TEST_F(HostPortsTest, GivesAPortToOneProcessAlone) {
  EXPECT_EQ(bind(1, 7, any_ipv6(80)), 0);
  EXPECT_EQ(bind(2, 7, at(1, 80)), EADDRNOTAVAIL);
  EXPECT_EQ(bind(2, 7, any_ipv6(81)), 0);
}

TEST_F(HostPortsTest, TellsIdsOfOneNumberApartByTheirSlots) {
  ASSERT_EQ(bind(1, 7, at(1, 80)), 0);
  ASSERT_EQ(bind(2, 7, at(2, 80)), 0);
  ASSERT_EQ(listen(1, 7, 80), 0);
  ASSERT_EQ(listen(2, 7, 80), 0);
  EXPECT_THAT(ports_.listener_at(kTcp, at(1, 80)), Optional(1u));
  EXPECT_THAT(ports_.listener_at(kTcp, at(2, 80)), Optional(2u));
  ports_.release(1, kTcp, 80, IdNumber{7});
  EXPECT_EQ(ports_.listener_at(kTcp, at(1, 80)), std::nullopt);
  EXPECT_THAT(ports_.listener_at(kTcp, at(2, 80)), Optional(2u));
}

TEST_F(HostPortsTest, LimitsAnyAddressToTheInterfaceOfTheMember) {
  ports_.limit(1, 11);
  ports_.limit(2, 12);
  ASSERT_EQ(bind(1, 7, any_ipv6(80)), 0);
  ASSERT_EQ(bind(2, 7, any_ipv6(80)), 0) << "it stands for other addresses";
  EXPECT_EQ(bind(3, 7, any_ipv6(80)), EADDRNOTAVAIL) << "this one is for all";
  ASSERT_EQ(listen(1, 7, 80), 0);
  ASSERT_EQ(listen(2, 7, 80), 0);
  EXPECT_THAT(ports_.listener_at(kTcp, at(1, 80), 11), Optional(1u));
  EXPECT_THAT(ports_.listener_at(kTcp, at(2, 80), 12), Optional(2u));
  EXPECT_EQ(ports_.listener_at(kTcp, at(3, 80), 13), std::nullopt);
}

TEST_F(HostPortsTest, LendsPortsForOneInterface) {
  ports_.limit(1, 11);
  ports_.limit(2, 12);
  const std::uint16_t port = ports_.lend(1, kTcp, 0).value();
  EXPECT_EQ(bind(2, 7, any_ipv6(port)), 0);
  EXPECT_EQ(bind(3, 7, any_ipv6(port)), EADDRNOTAVAIL);
}

TEST_F(HostPortsTest, ForgetsTheInterfaceOfAMemberThatHasEnded) {
  EXPECT_FALSE(ports_.has_limited());
  ports_.limit(1, 11);
  EXPECT_TRUE(ports_.has_limited());
  ports_.release_all(1);
  EXPECT_FALSE(ports_.has_limited());
  ASSERT_EQ(bind(1, 7, any_ipv6(80)), 0);
  EXPECT_EQ(bind(2, 7, any_ipv6(80)), EADDRNOTAVAIL);
}

TEST_F(HostPortsTest, ChoosesAFreePort) {
  const auto one = ports_.bind(1, kTcp, {.id = IdNumber{1}, .address = at(1, 0)});
  const auto other = ports_.bind(2, kTcp, {.id = IdNumber{1}, .address = at(1, 0)});
  ASSERT_TRUE(one && other);
  EXPECT_NE(one.value(), 0);
  EXPECT_NE(one.value(), other.value());
}

TEST_F(HostPortsTest, FindsNoListenerWhereAnIdIsOnlyBound) {
  ASSERT_EQ(bind(1, 7, at(1, 80)), 0);
  EXPECT_EQ(ports_.listener_at(kTcp, at(1, 80)), std::nullopt);
}

TEST_F(HostPortsTest, LetsOnlyOwnersListenAndRelease) {
  ASSERT_EQ(bind(1, 7, at(1, 80)), 0);
  EXPECT_EQ(listen(2, 7, 80), EINVAL);
  EXPECT_EQ(listen(1, 8, 80), EINVAL);
  ports_.release(2, kTcp, 80, IdNumber{7});
  EXPECT_EQ(listen(1, 7, 80), 0);
  EXPECT_THAT(ports_.listener_at(kTcp, at(1, 80)), Optional(1u));
}

TEST_F(HostPortsTest, RefusesASecondListenerOfASharedPort) {
  const HostPorts::Binding shared{.id = IdNumber{7}, .address = at(1, 80), .may_be_shared = true};
  ASSERT_TRUE(ports_.bind(1, kTcp, shared));
  ASSERT_TRUE(ports_.bind(2, kTcp, shared));
  EXPECT_EQ(listen(1, 7, 80), 0);
  EXPECT_EQ(listen(2, 7, 80), EADDRINUSE);
}

TEST_F(HostPortsTest, DoesNotBelieveThatANewBindingListens) {
  ASSERT_TRUE(ports_.bind(1, kTcp, {.id = IdNumber{7}, .address = at(1, 80), .is_listening = true}));
  EXPECT_EQ(ports_.listener_at(kTcp, at(1, 80)), std::nullopt);
}

TEST_F(HostPortsTest, RefusesAnIdThatHasThePortAlready) {
  ASSERT_EQ(bind(1, 7, at(1, 80)), 0);
  EXPECT_EQ(bind(1, 7, at(2, 80)), EINVAL);
}

TEST_F(HostPortsTest, LendsPortsThatNoOtherProcessGets) {
  const auto one = ports_.lend(1, kTcp, 0);
  const auto other = ports_.lend(2, kTcp, 0);
  ASSERT_TRUE(one && other);
  EXPECT_GE(one.value(), 61000) << "programs seldom name these";
  EXPECT_NE(one.value(), other.value());
  for (std::uint16_t i = 0; i < kLentPorts; ++i) {
    EXPECT_EQ(bind(2, 7, at(1, static_cast<std::uint16_t>(one.value() + i))), EADDRNOTAVAIL);
  }
  EXPECT_EQ(listen(2, 7, one.value()), EINVAL);
  EXPECT_EQ(ports_.lend(2, kTcp, one.value()).error(), EADDRINUSE);
  EXPECT_THAT(ports_.held_by(1), SizeIs(0));
}

TEST_F(HostPortsTest, MakesALentPortOneOfAnId) {
  const std::uint16_t port = ports_.lend(1, kTcp, 0).value();
  ASSERT_EQ(bind(1, 7, at(1, port)), 0);
  ASSERT_EQ(listen(1, 7, port), 0);
  EXPECT_THAT(ports_.listener_at(kTcp, at(1, port)), Optional(1u));
  ports_.release(1, kTcp, port, IdNumber{7});
  EXPECT_EQ(bind(2, 7, at(1, port)), 0) << "it is not lent any more";
}

TEST_F(HostPortsTest, LendsAllPortsThatThereAre) {
  unsigned blocks = 0;
  while (ports_.lend(1, kTcp, 0)) ++blocks;
  EXPECT_EQ(blocks, (65536u - 32768u) / kLentPorts);
  EXPECT_EQ(ports_.lend(1, kTcp, 0).error(), EADDRNOTAVAIL);
  EXPECT_EQ(ports_.lend(1, kTcp, 32767).error(), EADDRNOTAVAIL);
  EXPECT_EQ(ports_.lend(1, kTcp, 32769).error(), EADDRNOTAVAIL);
  EXPECT_EQ(bind(1, 7, at(1, 80)), 0) << "the others are nothing to lend";
  ports_.release_all(1);
  EXPECT_EQ(ports_.lend(2, kTcp, 65520).value(), 65520);
}

TEST_F(HostPortsTest, ReleasesWhicheverPortAnIdHas) {
  ASSERT_EQ(bind(1, 7, at(1, 80)), 0);
  ports_.release(1, kTcp, 0, IdNumber{8});
  EXPECT_EQ(bind(2, 7, at(1, 80)), EADDRINUSE);
  ports_.release(1, kTcp, 0, IdNumber{7});
  EXPECT_EQ(bind(2, 7, at(1, 80)), 0);
}

TEST_F(HostPortsTest, TakesEverythingFromAProcessThatHasEnded) {
  ASSERT_EQ(bind(1, 7, at(1, 80)), 0);
  ASSERT_EQ(bind(1, 8, at(1, 81)), 0);
  ASSERT_EQ(bind(2, 9, at(1, 82)), 0);
  EXPECT_THAT(ports_.held_by(1), SizeIs(2));
  ports_.release_all(1);
  EXPECT_THAT(ports_.held_by(1), SizeIs(0));
  EXPECT_EQ(bind(3, 1, at(1, 80)), 0);
  EXPECT_EQ(bind(3, 2, at(1, 81)), 0);
  EXPECT_EQ(bind(3, 3, at(1, 82)), EADDRINUSE);
}

}  // namespace
}  // namespace urnic::drivers
