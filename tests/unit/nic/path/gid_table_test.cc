// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/gid_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <string>
#include <vector>

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

class ChangingGidTable : public testing::Test {
 protected:
  static HostAddress on(const std::string& interface, const char* text) {
    return {.gid = gid(text), .interface = interface, .interface_index = 2};
  }
  static DeviceConfig config_of(const std::vector<HostAddress>& addresses) {
    DeviceConfig config;
    config.medium = Medium::kIp;
    config.host_addresses = addresses;
    return config;
  }

  const HostAddress ipv4_ = on("eth0", "::ffff:10.9.0.1");
  const HostAddress link_local_ = on("eth0", "fe80::1");
  const HostAddress other_ = on("eth1", "::ffff:10.8.0.1");
  const HostAddress new_ = on("eth0", "::ffff:10.9.0.2");
  GidTable table_{config_of({ipv4_, link_local_, other_})};
};

TEST_F(ChangingGidTable, IsTheSameWhileTheHostIs) {
  EXPECT_FALSE(table_.update({other_, ipv4_, link_local_}).has_changed);
  EXPECT_EQ(table_.index_of(other_.gid), 3);
}

TEST_F(ChangingGidTable, HasNewAddressesBehindAllThatThereWere) {
  EXPECT_TRUE(table_.update({ipv4_, link_local_, other_, new_}).has_changed);
  EXPECT_EQ(table_.at(4), new_.gid);
  EXPECT_EQ(table_.interface_at(4), "eth0");
  EXPECT_EQ(table_.at(1), ipv4_.gid);
}

TEST_F(ChangingGidTable, LeavesTheIndexOfAnAddressThatWentEmptyAndGivesItToNoOther) {
  EXPECT_TRUE(table_.update({link_local_, other_}).has_changed);
  EXPECT_EQ(table_.at(1), std::nullopt);
  EXPECT_EQ(table_.index_of(ipv4_.gid), std::nullopt);
  EXPECT_EQ(table_.interface_at(1), "");
  EXPECT_TRUE(table_.update({new_, link_local_, other_}).has_changed);
  EXPECT_EQ(table_.at(1), std::nullopt);
  EXPECT_EQ(table_.index_of(new_.gid), 4);
}

TEST_F(ChangingGidTable, GivesAnAddressThatReturnsItsIndexAgain) {
  table_.update({link_local_, other_});
  table_.update({new_, link_local_, other_});
  EXPECT_TRUE(table_.update({ipv4_, new_, link_local_, other_}).has_changed);
  EXPECT_EQ(table_.index_of(ipv4_.gid), 1);
}

TEST_F(ChangingGidTable, GivesTheUsualIndexToTheFirstInterfacesFirstAddressOfAKind) {
  EXPECT_TRUE(
      table_.update({ipv4_, link_local_, other_, on("eth1", "fd08::1"), on("eth0", "fd09::1")}).has_changed);
  EXPECT_EQ(table_.index_of(gid("fd09::1")), 2);
  EXPECT_EQ(table_.index_of(gid("fd08::1")), 4);
}

TEST_F(ChangingGidTable, NamesTheAddressesWhoseInterfaceHasAnotherMac) {
  EXPECT_THAT(table_.update({ipv4_, link_local_, other_}).moved, testing::IsEmpty());
  HostAddress moved = other_;
  moved.mac = Mac::parse("02:00:5e:10:00:02").value();
  const auto update = table_.update({ipv4_, link_local_, moved});
  EXPECT_THAT(update.moved, testing::ElementsAre(other_.gid));
  EXPECT_FALSE(update.has_changed) << "it has the same index";
  EXPECT_THAT(table_.update({ipv4_, link_local_, moved}).moved, testing::IsEmpty());
  table_.update({ipv4_, link_local_});
  EXPECT_THAT(table_.update({ipv4_, link_local_, other_}).moved, testing::ElementsAre(other_.gid))
      << "it returns elsewhere";
}

TEST_F(ChangingGidTable, HasNoMoreThanItsEntries) {
  std::vector<HostAddress> many{ipv4_, link_local_, other_};
  for (int i = 0; i < 100; ++i) many.push_back(on("eth2", ("fd07::" + std::to_string(i + 1)).c_str()));
  EXPECT_TRUE(table_.update(many).has_changed);
  EXPECT_TRUE(table_.at(GidTable::kEntries - 1));
  EXPECT_FALSE(table_.update(many).has_changed) << "what has no room changes nothing";
}

}  // namespace
}  // namespace urnic::nic
