// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What this host's routes say: there is a loopback everywhere.
#include "nic/host/route.h"

#include <gtest/gtest.h>

namespace urnic::nic {
namespace {

using transport::wire::Gid;

constexpr Gid kLocalIpv6{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

Gid loopback(std::uint8_t last) {
  return Gid::from_ipv4({{127, 0, 0, last}});
}

TEST(HostRouteTest, SaysWherePacketsLeaveFrom) {
  const auto route = host_route_to({.destination = loopback(1)});
  ASSERT_TRUE(route);
  EXPECT_EQ(route.value().source, loopback(1));
  EXPECT_EQ(host_route_to({.destination = loopback(9)}).value().source, loopback(1));
}

TEST(HostRouteTest, LeadsFromTheSourceThatIsNamed) {
  EXPECT_EQ(host_route_to({.destination = loopback(1), .source = loopback(7)}).value().source, loopback(7));
  const Gid of_documents = Gid::from_ipv4({{192, 0, 2, 1}});  // RFC 5737: of no host
  EXPECT_FALSE(host_route_to({.destination = loopback(1), .source = of_documents}));
}

TEST(HostRouteTest, SaysHowLargePacketsMayBe) {
  EXPECT_EQ(host_route_to({.destination = loopback(1)}).value().mtu, 65535)
      << "the loopback has more than a packet can have";
}

TEST(HostRouteTest, KnowsIpv6) {
  const auto route = host_route_to({.destination = kLocalIpv6});
  if (!route) GTEST_SKIP() << route.error().message;
  EXPECT_EQ(route.value().source, kLocalIpv6);
  EXPECT_GE(route.value().mtu, 1280);
}

TEST(HostRouteTest, KnowsNoWayToALinkLocalAddressOfNoLink) {
  const auto route =
      host_route_to({.destination = Gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}});
  ASSERT_FALSE(route);
  EXPECT_NE(route.error().message.find("no way to fe80::1"), std::string::npos) << route.error().message;
}

}  // namespace
}  // namespace urnic::nic
