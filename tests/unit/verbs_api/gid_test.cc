// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The GID table: indices 0, 1 and 2 are taken, the others are empty.
#include <arpa/inet.h>

#include <array>
#include <cstring>

#include "tests/unit/verbs_api/verbs_objects.h"

// Of the private node; no installed header declares it.
extern "C" int ibv_query_gid_type(ibv_context* context, uint8_t port_num, unsigned int index, int* type);

namespace urnic::test {
namespace {

constexpr int kTableLength = 64;
constexpr int kTypeRoceV2 = 1;

ibv_gid gid_from(const char* text) {
  ibv_gid gid{};
  EXPECT_EQ(inet_pton(AF_INET6, text, gid.raw), 1);
  return gid;
}

bool same(const ibv_gid& a, const ibv_gid& b) {
  return std::memcmp(a.raw, b.raw, sizeof(a.raw)) == 0;
}

TEST(QueryGid, GivesTheAddressesOfTheEnvironment) {
  const ContextPtr context = open_device();
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(context.get(), 1, 1, &gid), 0);
  EXPECT_TRUE(same(gid, gid_from("::ffff:10.77.9.1")));
  ASSERT_EQ(ibv_query_gid(context.get(), 1, 2, &gid), 0);
  EXPECT_TRUE(same(gid, gid_from("fd77::9")));
  ASSERT_EQ(ibv_query_gid(context.get(), 1, 0, &gid), 0);
  EXPECT_EQ(be64toh(gid.global.subnet_prefix), 0xfe80000000000000u);
  EXPECT_EQ(gid.global.interface_id, ibv_get_device_guid(context->device));
}

// UCX and libfabric walk the whole table and give up at the first error.
TEST(QueryGid, GivesZerosForAnEmptyIndex) {
  const ContextPtr context = open_device();
  for (int index = 3; index < kTableLength; ++index) {
    ibv_gid gid{};
    gid.raw[3] = 1;
    EXPECT_EQ(ibv_query_gid(context.get(), 1, index, &gid), 0);
    EXPECT_TRUE(same(gid, ibv_gid{}));
  }
}

// Searches for a GID end at the first error.
TEST(QueryGid, FailsBeyondTheTableAndForOtherPorts) {
  const ContextPtr context = open_device();
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid(context.get(), 1, kTableLength, &gid), -1);
  EXPECT_EQ(ibv_query_gid(context.get(), 1, -1, &gid), -1);
  EXPECT_EQ(ibv_query_gid(context.get(), 2, 0, &gid), -1);
}

TEST(QueryGidEx, DescribesAnEntry) {
  const ContextPtr context = open_device();
  ibv_gid_entry entry{};
  ASSERT_EQ(ibv_query_gid_ex(context.get(), 1, 1, &entry, 0), 0);
  EXPECT_TRUE(same(entry.gid, gid_from("::ffff:10.77.9.1")));
  EXPECT_EQ(entry.gid_index, 1u);
  EXPECT_EQ(entry.port_num, 1u);
  EXPECT_EQ(entry.gid_type, std::uint32_t{IBV_GID_TYPE_ROCE_V2});
}

TEST(QueryGidEx, HasNoDataForAnEmptyIndex) {
  const ContextPtr context = open_device();
  ibv_gid_entry entry{};
  EXPECT_EQ(ibv_query_gid_ex(context.get(), 1, kEmptyGid, &entry, 0), ENODATA);
}

TEST(QueryGidEx, RefusesBadArguments) {
  const ContextPtr context = open_device();
  ibv_gid_entry entry{};
  EXPECT_EQ(ibv_query_gid_ex(context.get(), 1, kTableLength, &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(context.get(), 2, 0, &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(context.get(), 1, 0, &entry, 1), EOPNOTSUPP);
}

TEST(QueryGidTable, ListsTheTakenEntriesAndTheirIndices) {
  const ContextPtr context = open_device();
  std::array<ibv_gid_entry, 4> entries{};
  ASSERT_EQ(ibv_query_gid_table(context.get(), entries.data(), entries.size(), 0), 3);
  EXPECT_EQ(entries[0].gid_index, 0u);
  EXPECT_EQ(entries[2].gid_index, 2u);
  EXPECT_TRUE(same(entries[2].gid, gid_from("fd77::9")));
}

TEST(QueryGidTable, RefusesATableThatIsTooSmall) {
  const ContextPtr context = open_device();
  std::array<ibv_gid_entry, 2> entries{};
  EXPECT_EQ(ibv_query_gid_table(context.get(), entries.data(), entries.size(), 0), -EINVAL);
}

// A program built with a later header has larger entries.
TEST(QueryGidTable, StridesByTheCallersEntrySize) {
  const ContextPtr context = open_device();
  constexpr std::size_t kLaterSize = sizeof(ibv_gid_entry) + 8;
  std::vector<std::uint8_t> memory(3 * kLaterSize, 0xaa);
  auto* const entries = reinterpret_cast<ibv_gid_entry*>(memory.data());
  ASSERT_EQ(_ibv_query_gid_table(context.get(), entries, 3, 0, kLaterSize), 3);
  ibv_gid_entry third{};
  std::memcpy(&third, memory.data() + 2 * kLaterSize, sizeof(third));
  EXPECT_EQ(third.gid_index, 2u);
  EXPECT_EQ(memory[sizeof(ibv_gid_entry)], 0);
}

TEST(QueryGidType, IsRoceV2WhereThereIsAnAddress) {
  const ContextPtr context = open_device();
  int type = -1;
  ASSERT_EQ(ibv_query_gid_type(context.get(), 1, 1, &type), 0);
  EXPECT_EQ(type, kTypeRoceV2);
  ASSERT_EQ(ibv_query_gid_type(context.get(), 1, kEmptyGid, &type), 0);
  EXPECT_NE(type, kTypeRoceV2);
  EXPECT_EQ(ibv_query_gid_type(context.get(), 1, kTableLength, &type), -1);
}

}  // namespace
}  // namespace urnic::test
