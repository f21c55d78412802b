#include "nic/path/gid_table.h"

#include <gtest/gtest.h>

#include <iterator>
#include <optional>

#include "tests/unit/nic/path/neighbor_host.h"

namespace urnic::nic {
namespace {

using test::gid;
using transport::wire::Gid;
using transport::wire::Ipv4Address;
using transport::wire::Mac;

DeviceConfig config_with_both_addresses() {
  DeviceConfig config;
  config.mac = Mac::parse("02:00:5e:10:00:01").value();
  config.ipv4 = Ipv4Interface{.address = Ipv4Address::parse("10.9.0.1").value()};
  config.ipv6 = Ipv6Interface{.address = gid("fd09::1")};
  return config;
}

TEST(GidTable, HoldsTheLinkLocalTheIpv4AndTheIpv6AddressInThisOrder) {
  const GidTable table(config_with_both_addresses());
  EXPECT_EQ(table.at(0), gid("fe80::5eff:fe10:1"));
  EXPECT_EQ(table.at(1), gid("::ffff:10.9.0.1"));
  EXPECT_EQ(table.at(2), gid("fd09::1"));
}

TEST(GidTable, NamesTheNodeByTheMac) {
  EXPECT_EQ(GidTable(config_with_both_addresses()).node_guid(), 0x00005efffe100001u);
}

TEST(GidTable, LeavesTheIndexOfAnAddressThatWasNotGivenEmpty) {
  DeviceConfig config = config_with_both_addresses();
  config.ipv4.reset();
  const GidTable table(config);
  EXPECT_EQ(table.at(1), std::nullopt);
  EXPECT_EQ(table.at(2), gid("fd09::1"));
}

TEST(GidTable, HasNothingBehindItsLastAddressNorBeyondItsEnd) {
  const GidTable table(config_with_both_addresses());
  EXPECT_EQ(table.at(3), std::nullopt);
  EXPECT_EQ(table.at(GidTable::kEntries - 1), std::nullopt);
  EXPECT_EQ(table.at(GidTable::kEntries), std::nullopt);
  EXPECT_EQ(table.at(~std::size_t{0}), std::nullopt);
}

TEST(GidTable, FindsTheIndexOfEachOfItsAddresses) {
  const GidTable table(config_with_both_addresses());
  EXPECT_EQ(table.index_of(gid("fe80::5eff:fe10:1")), 0);
  EXPECT_EQ(table.index_of(gid("::ffff:10.9.0.1")), 1);
  EXPECT_EQ(table.index_of(gid("fd09::1")), 2);
}

TEST(GidTable, HoldsAHostsAddressesOfItsFirstInterfaceInThatOrderAndAllOthersBehind) {
  DeviceConfig config;
  config.medium = Medium::kIp;
  config.host_addresses = {{gid("::ffff:10.9.0.1"), "eth0", 2}, {gid("::ffff:10.9.0.2"), "eth0", 2},
                           {gid("fd09::1"), "eth0", 2},         {gid("fe80::1"), "eth0", 2},
                           {gid("fe80::2"), "eth1", 3},         {gid("::ffff:127.0.0.1"), "lo", 1}};
  const GidTable table(config);
  const char* const expected[] = {"fe80::1",         "::ffff:10.9.0.1", "fd09::1",
                                  "::ffff:10.9.0.2", "fe80::2",         "::ffff:127.0.0.1"};
  for (std::size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(table.at(i), gid(expected[i])) << i;
  EXPECT_EQ(table.at(std::size(expected)), std::nullopt);
  EXPECT_EQ(table.interface_at(4), "eth1");
  EXPECT_EQ(table.interface_index_at(5), 1u);
  EXPECT_EQ(table.interface_at(6), "");
  EXPECT_EQ(table.interface_index_at(GidTable::kEntries), 0u);
}

TEST(GidTable, HasAnotherAddressAtIndexZeroOfAHostWithoutALinkLocalOne) {
  DeviceConfig config;
  config.medium = Medium::kIp;
  config.host_addresses = {{gid("::1"), "lo", 1}};
  const GidTable table(config);
  EXPECT_EQ(table.at(0), gid("::1"));
  EXPECT_EQ(table.at(1), std::nullopt);
  EXPECT_EQ(table.at(2), gid("::1"));
  EXPECT_EQ(table.interface_at(0), "lo");
}

TEST(GidTable, HoldsAsManyHostAddressesAsItHasEntries) {
  DeviceConfig config;
  config.medium = Medium::kIp;
  for (std::uint8_t i = 1; i <= 100; ++i) {
    config.host_addresses.push_back({Gid::from_ipv4({{10, 9, 0, i}}), "eth0", 2});
  }
  const GidTable table(config);
  EXPECT_TRUE(table.at(GidTable::kEntries - 1).has_value());
  EXPECT_EQ(table.at(GidTable::kEntries), std::nullopt);
}

TEST(GidTable, FindsNoIndexForForeignAddressesNorForTheZeroOfAnEmptyEntry) {
  const GidTable table(config_with_both_addresses());
  EXPECT_EQ(table.index_of(gid("::ffff:10.9.0.2")), std::nullopt);
  EXPECT_EQ(table.index_of(gid("::")), std::nullopt);
}

}  // namespace
}  // namespace urnic::nic
