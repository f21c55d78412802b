// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which addresses of a host its NIC has, and in which order.
#include "nic/host/host_addresses.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace urnic::nic {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using transport::wire::Gid;
using transport::wire::Ipv4Address;
using State = InterfaceAddress::State;

Gid gid_of(const std::string& text) {
  const auto ipv4 = Ipv4Address::parse(text);
  return ipv4 ? Gid::from_ipv4(*ipv4) : Gid::parse(text).value();
}

std::string text_of(const Gid& gid) {
  return gid.is_ipv4_mapped() ? to_string(gid.ipv4()) : to_string(gid);
}

class ArrangeTest : public ::testing::Test {
 protected:
  InterfaceAddress& add(const std::string& interface, const std::string& address) {
    host.addresses.push_back({.interface = interface,
                              .gid = gid_of(address),
                              .prefix_length = 24,
                              .mtu = 1500,
                              .is_on_loopback = interface == "lo",
                              .is_up = true,
                              .is_running = true});
    return host.addresses.back();
  }
  std::vector<std::string> arranged() {
    std::vector<std::string> texts;
    const auto addresses = arrange(host);
    if (!addresses) return texts;
    for (const HostAddress& each : addresses->all) texts.push_back(text_of(each.gid));
    return texts;
  }
  std::uint16_t mtu() {
    const auto addresses = arrange(host);
    return addresses ? addresses->mtu : std::uint16_t{0};
  }

  HostInterfaces host;
};

TEST_F(ArrangeTest, BeginsWithTheInterfaceOfTheDefaultRouteAndEndsWithTheLoopback) {
  add("lo", "127.0.0.1");
  add("docker0", "172.17.0.1");
  add("eth0", "10.0.0.5");
  add("eth0", "fe80::5");
  host.usual = "eth0";
  EXPECT_THAT(arranged(), ElementsAre("10.0.0.5", "fe80::5", "172.17.0.1", "127.0.0.1"));
}

TEST_F(ArrangeTest, TakesOtherInterfacesWithADefaultRouteBeforeThoseWithout) {
  add("a", "10.1.0.1");
  add("wlan0", "10.2.0.1");
  add("eth0", "10.0.0.5");
  host.usual = "eth0";
  host.with_default_route = {"eth0", "wlan0"};
  EXPECT_THAT(arranged(), ElementsAre("10.0.0.5", "10.2.0.1", "10.1.0.1"));
}

TEST_F(ArrangeTest, PutsInterfacesWithALinkLocalAddressAloneLast) {
  add("lo", "127.0.0.1");
  add("eth0", "10.0.0.5");
  add("veth1", "fe80::1");
  add("br0", "10.3.0.1");
  add("br0", "fe80::3");
  host.usual = "eth0";
  EXPECT_THAT(arranged(), ElementsAre("10.0.0.5", "10.3.0.1", "fe80::3", "127.0.0.1", "fe80::1"));
}

TEST_F(ArrangeTest, LeavesOutAddressesThatAreNotReady) {
  add("eth0", "fd00::1").state = State::kTentative;
  add("eth0", "fd00::2").state = State::kFailed;
  EXPECT_THAT(arranged(), IsEmpty());
  add("lo", "127.0.0.1");
  EXPECT_THAT(arranged(), ElementsAre("127.0.0.1"));
}

TEST_F(ArrangeTest, LeavesOutInterfacesThatAreDownAndRemembersThem) {
  add("lo", "127.0.0.1");
  add("eth0", "10.0.0.5").is_up = false;
  EXPECT_THAT(arranged(), ElementsAre("127.0.0.1"));
  const auto there = addresses_there(host);
  ASSERT_EQ(there.size(), 2u);
  EXPECT_EQ(text_of(there.back().gid), "10.0.0.5");
  EXPECT_FALSE(has_carrier(host, "eth0"));
  host.addresses.back().is_up = true;
  EXPECT_TRUE(has_carrier(host, "eth0"));
  host.addresses.back().is_running = false;
  EXPECT_FALSE(has_carrier(host, "eth0"));
}

TEST_F(ArrangeTest, PrefersAnInterfaceThatRunsWhereNoRouteDecides) {
  add("lo", "127.0.0.1");
  add("docker0", "172.17.0.1").is_running = false;
  add("net0", "2001:db8:5::2");
  EXPECT_EQ(arrange(host)->interface, "net0");
  host.addresses.back().is_running = false;
  EXPECT_EQ(arrange(host)->interface, "docker0") << "the kernel's order";
}

TEST_F(ArrangeTest, HasTheFirstInterfacesAddressesAsItsOwn) {
  add("docker0", "172.17.0.1");
  add("net0", "fe80::5");
  add("net0", "2001:db8:5::2");
  host.usual = "net0";
  const auto addresses = arrange(host);
  ASSERT_TRUE(addresses);
  EXPECT_FALSE(addresses->ipv4);
  ASSERT_TRUE(addresses->ipv6);
  EXPECT_EQ(to_string(addresses->ipv6->address), "2001:db8:5::2");
}

TEST_F(ArrangeTest, HasTheMtuOfUsualWaysOnly) {
  add("eth0", "10.0.0.5").mtu = 9000;
  add("docker0", "172.17.0.1").mtu = 1500;
  add("lo", "127.0.0.1").mtu = 65535;
  host.usual = "eth0";
  EXPECT_EQ(mtu(), 9000);
  host.with_default_route = {"eth0", "docker0"};
  EXPECT_EQ(mtu(), 1500);
}

TEST_F(ArrangeTest, HasTheLoopbacksMtuWhereThereIsNothingElse) {
  add("lo", "127.0.0.1").mtu = 65535;
  EXPECT_EQ(mtu(), 65535);
}

TEST(HostAddressesTest, KnowTheLoopback) {
  const auto all = find_all_host_addresses(AddressWait::kUntilReady);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_FALSE(all.value().all.empty());
  const auto named = find_host_addresses("127.0.0.7", AddressWait::kUntilReady);
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_THAT(named.value().gids(), ElementsAre(gid_of("127.0.0.7")));
}

TEST(HostAddressesTest, RefuseWhatIsNoAddressOfTheHost) {
  const auto foreign = find_host_addresses("192.0.2.7", AddressWait::kUntilReady);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, EADDRNOTAVAIL);
  const auto nonsense = find_host_addresses("nonsense", AddressWait::kUntilReady);
  ASSERT_FALSE(nonsense);
  EXPECT_EQ(nonsense.error().code, EINVAL);
}

}  // namespace
}  // namespace urnic::nic
