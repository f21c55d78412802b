// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The GID table of a ConnectX: RoCE v1 and v2 in pairs. Each test is a process: the device is told once.
#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/unit/verbs_api/verbs_objects.h"

// Of the private node; no installed header declares it.
extern "C" int ibv_query_gid_type(ibv_context* context, uint8_t port_num, unsigned int index, int* type);

namespace urnic::test {
namespace {

constexpr int kSysfsRoceV1 = 0;
constexpr int kSysfsRoceV2 = 1;
constexpr std::uint8_t kBthFollows = 27;
constexpr std::uint8_t kUdpFollows = 17;

class PairedGids : public testing::Test {
 protected:
  PairedGids() {
    setenv("URNIC_LIKE", "connectx6", 1);
    context_ = open_device();
  }

  ContextPtr context_;
};

TEST_F(PairedGids, AreListedWithTheirTypes) {
  std::array<ibv_gid_entry, 8> entries{};
  ASSERT_EQ(ibv_query_gid_table(context_.get(), entries.data(), entries.size(), 0), 6);
  for (std::uint32_t index = 0; index < 6; ++index) {
    const bool is_v1 = index % 2 == 0;
    EXPECT_EQ(entries[index].gid_index, index);
    EXPECT_EQ(entries[index].gid_type, std::uint32_t{is_v1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2});
    ibv_gid_entry alone{};
    ASSERT_EQ(ibv_query_gid_ex(context_.get(), 1, index, &alone, 0), 0);
    EXPECT_EQ(std::memcmp(&alone, &entries[index], sizeof alone), 0);
    int type = -1;
    ASSERT_EQ(ibv_query_gid_type(context_.get(), 1, index, &type), 0);
    EXPECT_EQ(type, is_v1 ? kSysfsRoceV1 : kSysfsRoceV2);
    EXPECT_EQ(std::memcmp(&entries[index].gid, &entries[index / 2 * 2].gid, sizeof(ibv_gid)), 0);
  }
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(context_.get(), 1, 2, &gid), 0);
  char text[INET6_ADDRSTRLEN] = "";
  EXPECT_STREQ(inet_ntop(AF_INET6, gid.raw, text, sizeof text), "::ffff:10.77.9.1");
}

TEST_F(PairedGids, AreInATableAsLongAsACardHas) {
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(context_.get(), 1, &port), 0);
  EXPECT_EQ(port.gid_tbl_len, 255);
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid(context_.get(), 1, 254, &gid), 0);
  EXPECT_EQ(ibv_query_gid(context_.get(), 1, 255, &gid), -1);
}

// As libibverbs does it: what follows the header tells the type.
TEST_F(PairedGids, AnswerADatagramInItsOwnType) {
  ibv_grh area{};
  area.version_tclass_flow = htonl(0x60000000);
  inet_pton(AF_INET6, "fd77::8", area.sgid.raw);
  inet_pton(AF_INET6, "fd77::9", area.dgid.raw);
  ibv_wc completion{};
  completion.wc_flags = IBV_WC_GRH;
  ibv_ah_attr answer{};
  area.next_hdr = kBthFollows;
  ASSERT_EQ(ibv_init_ah_from_wc(context_.get(), 1, &completion, &area, &answer), 0);
  EXPECT_EQ(answer.grh.sgid_index, 4);
  area.next_hdr = kUdpFollows;
  ASSERT_EQ(ibv_init_ah_from_wc(context_.get(), 1, &completion, &area, &answer), 0);
  EXPECT_EQ(answer.grh.sgid_index, 5);
}

}  // namespace
}  // namespace urnic::test
