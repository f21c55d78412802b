// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/raw/flow_match.h"

#include <gtest/gtest.h>

#include "tests/unit/nic/raw/flow_frame.h"

namespace urnic::nic {
namespace {

using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::Mac;

constexpr Mac kDestination{{2, 0, 0, 0, 0, 0xb}};
constexpr Mac kFullMac{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

bool is_match(const FlowRule& rule, const FrameBytes& frame) {
  return matches(rule, FlowHeaders::read(frame));
}

/// Whether a rule takes the frame with `right` in the field that `set` sets, and not with `wrong`.
template <typename T, typename Set>
testing::AssertionResult tells_apart(const FrameBytes& frame, T right, T wrong, T mask, Set set) {
  FlowRule rule;
  set(rule, Masked<T>{.value = right, .mask = mask});
  if (!is_match(rule, frame)) return testing::AssertionFailure() << "refuses the right value";
  set(rule, Masked<T>{.value = wrong, .mask = mask});
  if (is_match(rule, frame)) return testing::AssertionFailure() << "takes the wrong value";
  set(rule, Masked<T>{.value = wrong, .mask = {}});
  if (!is_match(rule, frame)) return testing::AssertionFailure() << "looks at bits that are not in the mask";
  return testing::AssertionSuccess();
}

TEST(FlowMatch, TakesEveryFrameWhenNothingIsNamed) {
  EXPECT_TRUE(is_match({}, udp_over_ipv4()));
  EXPECT_TRUE(is_match({}, macs() + bytes_of({0, 0})));
  EXPECT_FALSE(is_match({}, macs() + bytes_of({0}))) << "that is no frame";
  EXPECT_FALSE(is_match({}, {}));
}

TEST(FlowMatch, LooksAtEveryFieldOfEthernet) {
  const FrameBytes frame = udp_over_ipv4();
  const auto ethernet = [](auto member) {
    return [member](FlowRule& rule, auto wanted) { rule.ethernet.emplace().*member = wanted; };
  };
  EXPECT_TRUE(tells_apart(frame, kDestination, Mac{{2, 0, 0, 0, 0, 0xc}}, kFullMac,
                          ethernet(&EthernetMatch::destination)));
  EXPECT_TRUE(tells_apart(frame, Mac{{2, 0, 0, 0, 0, 0xa}}, kDestination, kFullMac,
                          ethernet(&EthernetMatch::source)));
  using U16 = std::uint16_t;
  EXPECT_TRUE(
      tells_apart(frame, U16{0x0800}, U16{0x86dd}, U16{0xffff}, ethernet(&EthernetMatch::ether_type)));
}

TEST(FlowMatch, LooksAtTheBitsOfTheMaskOnly) {
  FlowRule rule{.ethernet = EthernetMatch{.destination = {.value = {{0x02}}, .mask = {{0x03}}}}};
  EXPECT_TRUE(is_match(rule, udp_over_ipv4()));
  rule.ethernet->destination.value.octets[0] = 0x06;
  EXPECT_TRUE(is_match(rule, udp_over_ipv4())) << "bit 2 is not in the mask";
  rule.ethernet->destination.value.octets[0] = 0x01;
  EXPECT_FALSE(is_match(rule, udp_over_ipv4()));
}

TEST(FlowMatch, NeedsATagWhenOneIsNamedAndLooksThroughItOtherwise) {
  const FrameBytes tagged = macs() + bytes_of({0x81, 0, 0xbc, 0x0c, 8, 0}) + ipv4(kUdpProtocol) + udp();
  const FrameBytes twice =
      macs() + bytes_of({0x88, 0xa8, 0xbc, 0x0c, 0x81, 0, 0, 7, 8, 0}) + ipv4(kUdpProtocol) + udp();
  const FlowRule of_tag{.ethernet = EthernetMatch{.vlan_tag = {.value = 0xbc0c, .mask = 0xffff}}};
  const FlowRule of_priority{.ethernet = EthernetMatch{.vlan_tag = {.value = 0xa000, .mask = 0xe000}}};
  const FlowRule of_inner_tag{.ethernet = EthernetMatch{.vlan_tag = {.value = 7, .mask = 0xfff}}};
  const FlowRule of_type{.ethernet = EthernetMatch{.ether_type = {.value = 0x0800, .mask = 0xffff}}};
  const FlowRule of_ports{.ports = PortsMatch{.destination = {.value = 2000, .mask = 0xffff}}};
  for (const FrameBytes& frame : {tagged, twice}) {
    EXPECT_TRUE(is_match(of_tag, frame));
    EXPECT_TRUE(is_match(of_priority, frame));
    EXPECT_FALSE(is_match(of_inner_tag, frame)) << "it is the outermost that counts";
    EXPECT_TRUE(is_match(of_type, frame));
    EXPECT_TRUE(is_match(of_ports, frame));
  }
  EXPECT_FALSE(is_match(of_tag, udp_over_ipv4()));
  const FlowRule of_zero_tag{.ethernet = EthernetMatch{.vlan_tag = {.value = 0, .mask = 0xfff}}};
  EXPECT_FALSE(is_match(of_zero_tag, udp_over_ipv4())) << "no tag is not tag 0";
}

TEST(FlowMatch, LooksAtEveryFieldOfIpv4) {
  const FrameBytes frame = udp_over_ipv4();
  const auto ipv4 = [](auto member) {
    return [member](FlowRule& rule, auto wanted) { rule.ipv4.emplace().*member = wanted; };
  };
  using U8 = std::uint8_t;
  const Ipv4Address all{{255, 255, 255, 255}};
  EXPECT_TRUE(tells_apart(frame, Ipv4Address{{10, 0, 0, 1}}, Ipv4Address{{10, 0, 0, 2}}, all,
                          ipv4(&Ipv4Match::source)));
  EXPECT_TRUE(tells_apart(frame, Ipv4Address{{10, 0, 0, 2}}, Ipv4Address{{10, 0, 0, 1}}, all,
                          ipv4(&Ipv4Match::destination)));
  EXPECT_TRUE(tells_apart(frame, U8{17}, U8{6}, U8{0xff}, ipv4(&Ipv4Match::protocol)));
  EXPECT_TRUE(tells_apart(frame, U8{0x20}, U8{0}, U8{0xff}, ipv4(&Ipv4Match::tos)));
  EXPECT_TRUE(tells_apart(frame, U8{9}, U8{8}, U8{0xff}, ipv4(&Ipv4Match::ttl)));
  EXPECT_TRUE(tells_apart(frame, U8{2}, U8{0}, U8{2}, ipv4(&Ipv4Match::flags)));
}

TEST(FlowMatch, LooksAtEveryFieldOfIpv6) {
  const FrameBytes frame = tcp_over_ipv6();
  const auto ipv6 = [](auto member) {
    return [member](FlowRule& rule, auto wanted) { rule.ipv6.emplace().*member = wanted; };
  };
  const auto address = [](std::uint8_t last) {
    Ipv6Address result{{0xfd}};
    result.octets[15] = last;
    return result;
  };
  Ipv6Address all;
  all.octets.fill(0xff);
  using U8 = std::uint8_t;
  EXPECT_TRUE(tells_apart(frame, address(1), address(2), all, ipv6(&Ipv6Match::source)));
  EXPECT_TRUE(tells_apart(frame, address(2), address(1), all, ipv6(&Ipv6Match::destination)));
  EXPECT_TRUE(tells_apart(frame, std::uint32_t{0x34567}, std::uint32_t{0x34566}, std::uint32_t{0xfffff},
                          ipv6(&Ipv6Match::flow_label)));
  EXPECT_TRUE(tells_apart(frame, U8{6}, U8{17}, U8{0xff}, ipv6(&Ipv6Match::next_header)));
  EXPECT_TRUE(tells_apart(frame, U8{0x12}, U8{0x13}, U8{0xff}, ipv6(&Ipv6Match::traffic_class)));
  EXPECT_TRUE(tells_apart(frame, U8{9}, U8{10}, U8{0xff}, ipv6(&Ipv6Match::hop_limit)));
}

TEST(FlowMatch, NeedsTheHeaderThatIsNamed) {
  const FlowRule of_ipv4{.ipv4 = Ipv4Match{}};
  const FlowRule of_ipv6{.ipv6 = Ipv6Match{}};
  const FlowRule of_tcp{.ports = PortsMatch{.protocol = PortProtocol::kTcp}};
  const FlowRule of_udp{.ports = PortsMatch{.protocol = PortProtocol::kUdp}};
  EXPECT_TRUE(is_match(of_ipv4, udp_over_ipv4()));
  EXPECT_FALSE(is_match(of_ipv6, udp_over_ipv4()));
  EXPECT_TRUE(is_match(of_udp, udp_over_ipv4()));
  EXPECT_FALSE(is_match(of_tcp, udp_over_ipv4()));
  EXPECT_FALSE(is_match(of_ipv4, tcp_over_ipv6()));
  EXPECT_TRUE(is_match(of_ipv6, tcp_over_ipv6()));
  EXPECT_TRUE(is_match(of_tcp, tcp_over_ipv6()));
  EXPECT_FALSE(is_match(of_udp, tcp_over_ipv6()));
  EXPECT_FALSE(is_match(of_tcp, macs() + bytes_of({8, 6}) + ipv4(kTcpProtocol) + tcp()))
      << "ARP has no ports";
}

TEST(FlowMatch, FindsPortsBehindOptionsAndNotInLaterFragments) {
  const FlowRule rule{.ports = PortsMatch{.source = {.value = 1000, .mask = 0xffff},
                                          .destination = {.value = 2000, .mask = 0xffff}}};
  const FrameBytes front = macs() + bytes_of({8, 0});
  EXPECT_TRUE(is_match(rule, front + ipv4(kUdpProtocol, 3) + udp()));
  EXPECT_TRUE(is_match(rule, front + ipv4(kUdpProtocol, 10) + udp()));
  constexpr unsigned kMoreFragments = 0x2000;
  EXPECT_TRUE(is_match(rule, front + ipv4(kUdpProtocol, 0, kMoreFragments) + udp()))
      << "the first one has them";
  EXPECT_FALSE(is_match(rule, front + ipv4(kUdpProtocol, 0, kMoreFragments | 1) + udp()));
  FrameBytes bad_length = ipv4(kUdpProtocol);
  bad_length[0] = std::byte{0x44};
  EXPECT_FALSE(is_match(rule, front + bad_length + udp())) << "a header of 16 bytes is none";
}

// A header that the frame cuts off is not there, wherever the cut is.
TEST(FlowMatch, FindsNothingBehindTheEndOfTheFrame) {
  const FlowRule of_ipv4{.ipv4 = Ipv4Match{}};
  const FlowRule of_ipv6{.ipv6 = Ipv6Match{}};
  const FlowRule of_udp{.ports = PortsMatch{.protocol = PortProtocol::kUdp}};
  const FlowRule of_tcp{.ports = PortsMatch{.protocol = PortProtocol::kTcp}};
  const FrameBytes small = macs() + bytes_of({8, 0}) + ipv4(kUdpProtocol, 2) + udp();
  const FrameBytes large = tcp_over_ipv6();
  for (std::size_t size = 0; size <= small.size(); ++size) {
    const FrameBytes cut(small.begin(), small.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(is_match({}, cut), size >= 14) << size;
    EXPECT_EQ(is_match(of_ipv4, cut), size >= 14 + 28) << size;
    EXPECT_EQ(is_match(of_udp, cut), size >= 14 + 28 + 8) << size;
  }
  for (std::size_t size = 0; size <= large.size(); ++size) {
    const FrameBytes cut(large.begin(), large.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(is_match(of_ipv6, cut), size >= 14 + 40) << size;
    EXPECT_EQ(is_match(of_tcp, cut), size >= 14 + 40 + 20) << size;
  }
}

TEST(FlowMatch, NeedsAllThatIsNamedAtOnce) {
  FlowRule rule{.ethernet = EthernetMatch{.destination = {.value = kDestination, .mask = kFullMac}},
                .ipv4 = Ipv4Match{.ttl = {.value = 9, .mask = 0xff}},
                .ports = PortsMatch{.destination = {.value = 2000, .mask = 0xffff}}};
  EXPECT_TRUE(is_match(rule, udp_over_ipv4()));
  rule.ports->destination.value = 2001;
  EXPECT_FALSE(is_match(rule, udp_over_ipv4()));
}

}  // namespace
}  // namespace urnic::nic
