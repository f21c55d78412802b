#include "nic/path/gid_table.h"

#include <gtest/gtest.h>

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

TEST(GidTable, FindsNoIndexForForeignAddressesNorForTheZeroOfAnEmptyEntry) {
  const GidTable table(config_with_both_addresses());
  EXPECT_EQ(table.index_of(gid("::ffff:10.9.0.2")), std::nullopt);
  EXPECT_EQ(table.index_of(gid("::")), std::nullopt);
}

}  // namespace
}  // namespace urnic::nic
