// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/address.h"

#include <gtest/gtest.h>

#include <string_view>

namespace urnic::transport::wire {
namespace {

constexpr Mac kClientMac{{0x52, 0x54, 0x98, 0xaf, 0x40, 0xcf}};

TEST(Mac, IsWrittenAsItIsRead) {
  EXPECT_EQ(Mac::parse("52:54:98:af:40:cf"), kClientMac);
  EXPECT_EQ(to_string(kClientMac), "52:54:98:af:40:cf");
  EXPECT_EQ(Mac::parse("2:0:0:0:0:A"), (Mac{{2, 0, 0, 0, 0, 10}}));
}

TEST(Mac, IsNotReadFromAnythingElse) {
  for (const std::string_view text :
       {"", "52:54:98:af:40", "52:54:98:af:40:cf:00", "52:54:98:af:40:cf ", "525498af40cf",
        "52-54-98-af-40-cf", "52:54:98:af:40:", "52:54:98:af::cf", "052:54:98:af:40:cf", "-1:54:98:af:40:cf",
        "5g:54:98:af:40:cf", "0x5:54:98:af:40:cf"}) {
    EXPECT_EQ(Mac::parse(text), std::nullopt) << text;
  }
}

TEST(Mac, KnowsGroupAddresses) {
  EXPECT_FALSE(kClientMac.is_multicast());
  EXPECT_TRUE((Mac{{0x01, 0x00, 0x5e, 0, 0, 1}}).is_multicast());
  EXPECT_TRUE(Mac::broadcast().is_multicast());
  EXPECT_TRUE(Mac::broadcast().is_broadcast());
  EXPECT_FALSE((Mac{{0x33, 0x33, 0, 0, 0, 1}}).is_broadcast());
}

TEST(Ipv4Address, IsWrittenAsItIsRead) {
  const Ipv4Address address{{10, 77, 0, 2}};
  EXPECT_EQ(Ipv4Address::parse("10.77.0.2"), address);
  EXPECT_EQ(to_string(address), "10.77.0.2");
}

TEST(Ipv4Address, IsNotReadFromAnythingElse) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("10.77.0"), std::string_view("10.77.0.256"),
        std::string_view("10.77.0.2 "), std::string_view("10.77.0.2/24"), std::string_view("::1"),
        std::string_view("10.77.0.2\0", 10),
        std::string_view("10.77.0.0000000000000000000000000000000000000002")}) {
    EXPECT_EQ(Ipv4Address::parse(text), std::nullopt) << text;
  }
}

TEST(Ipv4Address, KnowsGroupAddresses) {
  EXPECT_FALSE((Ipv4Address{{223, 255, 255, 255}}).is_multicast());
  EXPECT_TRUE((Ipv4Address{{224, 0, 0, 0}}).is_multicast());
  EXPECT_TRUE((Ipv4Address{{239, 77, 0, 1}}).is_multicast());
  EXPECT_FALSE((Ipv4Address{{240, 0, 0, 0}}).is_multicast());
}

TEST(Ipv6Address, IsWrittenAsItIsRead) {
  const auto address = Ipv6Address::parse("fd77::2");
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->octets,
            (std::array<std::uint8_t, 16>{0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(to_string(*address), "fd77::2");
  EXPECT_EQ(Ipv6Address::parse("fd77::2%eth0"), std::nullopt);
  EXPECT_EQ(Ipv6Address::parse("fd77::2/64"), std::nullopt);
  EXPECT_EQ(Ipv6Address::parse("10.0.0.1"), std::nullopt);
}

TEST(Ipv6Address, HoldsAnIpv4Address) {
  const Ipv4Address ipv4{{10, 77, 0, 2}};
  const Gid gid = Gid::from_ipv4(ipv4);
  EXPECT_EQ(to_string(gid), "::ffff:10.77.0.2");
  EXPECT_TRUE(gid.is_ipv4_mapped());
  EXPECT_EQ(gid.ipv4(), ipv4);
  EXPECT_FALSE(Ipv6Address::parse("::10.77.0.2")->is_ipv4_mapped());
  EXPECT_FALSE(Ipv6Address::parse("1::ffff:10.77.0.2")->is_ipv4_mapped());
}

// rping_ipv6.pcap: the client's CM request names the CA GUID 5054:98ff:feaf:40cf, made by Linux from this
// MAC.
TEST(Ipv6Address, OfTheLinkIsTheEui64OfTheMac) {
  const Ipv6Address address = Ipv6Address::link_local_from_mac(kClientMac);
  EXPECT_EQ(to_string(address), "fe80::5054:98ff:feaf:40cf");
  EXPECT_TRUE(address.is_link_local());
  // arp_nd_linux.pcap, frame 5: 02:00:00:00:00:02 sends from this address.
  EXPECT_EQ(to_string(Ipv6Address::link_local_from_mac(Mac{{2, 0, 0, 0, 0, 2}})), "fe80::ff:fe00:2");
}

TEST(Ipv6Address, KnowsItsScope) {
  EXPECT_TRUE(Ipv6Address::parse("febf::1")->is_link_local());
  EXPECT_FALSE(Ipv6Address::parse("fec0::1")->is_link_local());
  EXPECT_TRUE(Ipv6Address::parse("ff02::1")->is_multicast());
  EXPECT_FALSE(Ipv6Address::parse("fe80::1")->is_multicast());
  EXPECT_TRUE(Ipv6Address::parse("::")->is_unspecified());
  EXPECT_FALSE(Ipv6Address::parse("::1")->is_unspecified());
}

TEST(MulticastMac, TakesTheLow23BitsOfAnIpv4Group) {
  // mckey.pcap, frame 1: 239.77.0.1 is sent to 01:00:5e:4d:00:01.
  EXPECT_EQ(to_string(multicast_mac(Ipv4Address{{239, 77, 0, 1}})), "01:00:5e:4d:00:01");
  EXPECT_EQ(to_string(multicast_mac(Ipv4Address{{239, 205, 0, 1}})), "01:00:5e:4d:00:01");
}

TEST(MulticastMac, TakesTheLow32BitsOfAnIpv6Group) {
  // arp_nd_linux.pcap, frame 9: the solicitation for fd09::2 goes to ff02::1:ff00:2, in a frame to
  // 33:33:ff:00:00:02.
  const Ipv6Address group = solicited_node_multicast(*Ipv6Address::parse("fd09::2"));
  EXPECT_EQ(to_string(group), "ff02::1:ff00:2");
  EXPECT_EQ(to_string(multicast_mac(group)), "33:33:ff:00:00:02");
}

}  // namespace
}  // namespace urnic::transport::wire
