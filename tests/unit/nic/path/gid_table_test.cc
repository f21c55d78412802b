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
using transport::wire::Encapsulation;
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
  EXPECT_EQ(table.at(table.size() - 1), std::nullopt);
  EXPECT_EQ(table.at(table.size()), std::nullopt);
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
  EXPECT_EQ(table.interface_index_at(table.size()), 0u);
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
  EXPECT_TRUE(table.at(table.size() - 1).has_value());
  EXPECT_EQ(table.at(table.size()), std::nullopt);
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
  EXPECT_TRUE(table_.at(table_.size() - 1));
  EXPECT_FALSE(table_.update(many).has_changed) << "what has no room changes nothing";
}

/// The table of a NIC whose entries stand so, with all three addresses.
class GidLayout : public testing::Test {
 protected:
  GidTable table_of(GidEntries entries, Medium medium = Medium::kEthernet) {
    personality_.gid_entries = entries;
    DeviceConfig config = config_with_both_addresses();
    config.personality = &personality_;
    config.medium = medium;
    if (medium == Medium::kIp) {
      config.host_addresses = {{gid("fe80::5eff:fe10:1"), "eth0", 2}, {gid("::ffff:10.9.0.1"), "eth0", 2}};
    }
    return GidTable(config);
  }
  /// "INDEX:VERSION ADDRESS" of each entry.
  static std::vector<std::string> entries_of(const GidTable& table) {
    std::vector<std::string> entries;
    for (std::size_t index = 0; index < table.size(); ++index) {
      const auto entry = table.entry_at(index);
      if (!entry) continue;
      EXPECT_EQ(table.at(index), entry->gid);
      EXPECT_EQ(table.index_of(entry->gid, entry->encapsulation), index);
      const char* const version = entry->encapsulation == Encapsulation::kRoceV1 ? "v1" : "v2";
      entries.push_back(std::to_string(index) + ":" + version + " " + to_string(entry->gid));
    }
    return entries;
  }

  Personality personality_ = personality_of(Column::kDefault);
};

TEST_F(GidLayout, HasPairsOfRoceV1AndV2) {
  const GidTable table = table_of(GidEntries::kPairs);
  EXPECT_THAT(entries_of(table),
              testing::ElementsAre("0:v1 fe80::5eff:fe10:1", "1:v2 fe80::5eff:fe10:1", "2:v1 ::ffff:10.9.0.1",
                                   "3:v2 ::ffff:10.9.0.1", "4:v1 fd09::1", "5:v2 fd09::1"));
  EXPECT_TRUE(table.has_roce_v1());
  EXPECT_EQ(table.index_of(gid("::ffff:10.9.0.1")), 3) << "RoCE v2 unless the other is meant";
  EXPECT_EQ(table.address_count(), 3u);
  EXPECT_EQ(table.address_at(GidTable::kIpv4), gid("::ffff:10.9.0.1"));
}

TEST_F(GidLayout, HasNoRoceV1WhereIpPacketsAreCarried) {
  const GidTable table = table_of(GidEntries::kPairs, Medium::kIp);
  EXPECT_THAT(entries_of(table), testing::ElementsAre("1:v2 fe80::5eff:fe10:1", "3:v2 ::ffff:10.9.0.1"));
  EXPECT_FALSE(table.has_roce_v1());
  EXPECT_TRUE(table.would_be_roce_v1(2));
  EXPECT_FALSE(table.would_be_roce_v1(3));
  EXPECT_FALSE(table.would_be_roce_v1(4)) << "there is no such address";
  EXPECT_FALSE(table.would_be_roce_v1(table.size()));
  EXPECT_EQ(table.index_of(gid("::ffff:10.9.0.1"), Encapsulation::kRoceV1), std::nullopt);
  EXPECT_EQ(table.interface_at(3), "eth0");
  EXPECT_EQ(table.interface_at(2), "");
}

TEST_F(GidLayout, MayHaveItsEntriesWhereNoOtherHasThem) {
  const GidTable strict = table_of(GidEntries::kScattered);
  EXPECT_THAT(entries_of(strict),
              testing::ElementsAre("4:v2 fe80::5eff:fe10:1", "6:v2 ::ffff:10.9.0.1", "8:v2 fd09::1"));
  EXPECT_FALSE(strict.has_roce_v1());
  for (const GidEntries other : {GidEntries::kRoceV2, GidEntries::kPairs}) {
    const GidTable table = table_of(other);
    for (std::size_t index = 0; index < table.size(); ++index) {
      const auto entry = table.entry_at(index);
      const auto here = strict.entry_at(index);
      if (!entry || !here) continue;
      EXPECT_TRUE(entry->gid != here->gid || entry->encapsulation != here->encapsulation) << index;
    }
  }
}

TEST_F(GidLayout, KeepsEachEntryWithinTheTable) {
  personality_.gid_tbl_len = 32;
  personality_.gid_entries = GidEntries::kPairs;
  DeviceConfig config;
  config.personality = &personality_;
  config.medium = Medium::kIp;
  for (std::uint8_t i = 1; i <= 100; ++i) {
    config.host_addresses.push_back({Gid::from_ipv4({{10, 9, 0, i}}), "eth0", 2});
  }
  const GidTable table(config);
  EXPECT_EQ(table.size(), 32u);
  EXPECT_TRUE(table.at(31));
  EXPECT_EQ(table.at(33), std::nullopt);
  EXPECT_EQ(table.address_count(), 16u);
}

}  // namespace
}  // namespace urnic::nic
