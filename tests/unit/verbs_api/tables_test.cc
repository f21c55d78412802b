// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Words, rates, and structs of the kernel.
#include <infiniband/sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include <cstring>
#include <set>
#include <string>

#include "tests/unit/verbs_api/verbs_objects.h"
#include "verbs_api/abi/newer_verbs.h"

// Exported, but not declared in the installed headers.
extern "C" {
void ibv_copy_ah_attr_from_kern(ibv_ah_attr* dst, ib_uverbs_ah_attr* src);
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* dst, ib_uverbs_qp_attr* src);
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* dst, ib_user_path_rec* src);
void ibv_copy_path_rec_to_kern(ib_user_path_rec* dst, ibv_sa_path_rec* src);
int ibv_dontfork_range(void* base, std::size_t size);
int ibv_dofork_range(void* base, std::size_t size);
}

namespace urnic::test {
namespace {

// As libibverbs 44.0 of Debian 12 answers, read out with a small program: code, Mb/s, multiple of 2.5 Gb/s.
struct RateRow {
  int code;
  int mbps;
  int multiple;
};
constexpr RateRow kRates[] = {
    {2, 2500, 1},      {3, 10000, 4},     {4, 30000, 12},     {5, 5000, 2},     {6, 20000, 8},
    {7, 40000, 16},    {8, 60000, 24},    {9, 80000, 32},     {10, 120000, 48}, {11, 14062, -1},
    {12, 56250, -1},   {13, 112500, -1},  {14, 168750, -1},   {15, 25781, -1},  {16, 103125, -1},
    {17, 206250, -1},  {18, 309375, -1},  {19, 28125, 11},    {20, 53125, 20},  {21, 425000, 160},
    {22, 637500, 240}, {23, 850000, 320}, {24, 1275000, 480},
};

TEST(Rates, AreThoseOfLibibverbs) {
  for (const RateRow& row : kRates) {
    const auto rate = static_cast<ibv_rate>(row.code);
    EXPECT_EQ(ibv_rate_to_mbps(rate), row.mbps);
    EXPECT_EQ(ibv_rate_to_mult(rate), row.multiple);
    EXPECT_EQ(mbps_to_ibv_rate(row.mbps), rate);
    if (row.multiple > 0) {
      EXPECT_EQ(mult_to_ibv_rate(row.multiple), rate);
    }
  }
}

TEST(Rates, HaveAnAnswerForEverything) {
  for (const int unknown : {-1, 0, 1, 25, 1000}) {
    EXPECT_EQ(ibv_rate_to_mbps(static_cast<ibv_rate>(unknown)), -1);
    EXPECT_EQ(ibv_rate_to_mult(static_cast<ibv_rate>(unknown)), -1);
  }
  EXPECT_EQ(mbps_to_ibv_rate(12345), IBV_RATE_MAX);
  EXPECT_EQ(mult_to_ibv_rate(-1), IBV_RATE_MAX);
  EXPECT_EQ(mult_to_ibv_rate(3), IBV_RATE_MAX);
}

template <typename Enum>
void expect_words(const char* (*word)(Enum), int first, int last) {
  std::set<std::string> words;
  for (int value = first; value <= last; ++value) words.insert(word(static_cast<Enum>(value)));
  EXPECT_EQ(words.size(), static_cast<std::size_t>(last - first + 1)) << "two values have one word";
  EXPECT_STREQ(word(static_cast<Enum>(last + 1)), "unknown");
  EXPECT_STREQ(word(static_cast<Enum>(-1)), "unknown");
}

TEST(Words, AreThereForEveryValueAndForNone) {
  expect_words(ibv_wc_status_str, 0, IBV_WC_TM_RNDV_INCOMPLETE);
  expect_words(ibv_event_type_str, 0, verbs_api::kEventDeviceSpeedChange);
  expect_words(ibv_node_type_str, IBV_NODE_CA, IBV_NODE_UNSPECIFIED);
  expect_words(ibv_port_state_str, 0, IBV_PORT_ACTIVE_DEFER);
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR), "transport retry counter exceeded");
}

TEST(ForkRanges, AreAcceptedAndNotNeeded) {
  int memory = 0;
  EXPECT_EQ(ibv_dontfork_range(&memory, sizeof(memory)), 0);
  EXPECT_EQ(ibv_dofork_range(&memory, sizeof(memory)), 0);
}

TEST(KernelStructs, AddressAttributesArriveInTheirFields) {
  ib_uverbs_ah_attr from{};
  from.grh.dgid[15] = 9;
  from.grh.flow_label = 0x12345;
  from.grh.sgid_index = 1;
  from.grh.hop_limit = 2;
  from.grh.traffic_class = 3;
  from.dlid = 4;
  from.sl = 5;
  from.src_path_bits = 6;
  from.static_rate = 7;
  from.is_global = 1;
  from.port_num = 8;
  ibv_ah_attr to{};
  ibv_copy_ah_attr_from_kern(&to, &from);
  EXPECT_EQ(to.grh.dgid.raw[15], 9);
  EXPECT_EQ(to.grh.flow_label, 0x12345u);
  EXPECT_EQ(to.grh.sgid_index, 1);
  EXPECT_EQ(to.grh.hop_limit, 2);
  EXPECT_EQ(to.grh.traffic_class, 3);
  EXPECT_EQ(to.dlid, 4);
  EXPECT_EQ(to.sl, 5);
  EXPECT_EQ(to.src_path_bits, 6);
  EXPECT_EQ(to.static_rate, 7);
  EXPECT_EQ(to.is_global, 1);
  EXPECT_EQ(to.port_num, 8);
}

TEST(KernelStructs, QueuePairAttributesArriveInTheirFields) {
  ib_uverbs_qp_attr from{};
  from.qp_state = IBV_QPS_RTR;
  from.path_mtu = IBV_MTU_2048;
  from.qkey = 0x11111111;
  from.rq_psn = 0x111;
  from.sq_psn = 0x222;
  from.dest_qp_num = 0x333;
  from.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  from.max_send_wr = 17;
  from.max_inline_data = 18;
  from.ah_attr.sl = 3;
  from.alt_ah_attr.sl = 4;
  from.max_rd_atomic = 5;
  from.max_dest_rd_atomic = 6;
  from.min_rnr_timer = 7;
  from.timeout = 8;
  from.retry_cnt = 9;
  from.rnr_retry = 10;
  from.alt_timeout = 11;
  ibv_qp_attr to{};
  ibv_copy_qp_attr_from_kern(&to, &from);
  EXPECT_EQ(to.qp_state, IBV_QPS_RTR);
  EXPECT_EQ(to.path_mtu, IBV_MTU_2048);
  EXPECT_EQ(to.qkey, 0x11111111u);
  EXPECT_EQ(to.rq_psn, 0x111u);
  EXPECT_EQ(to.sq_psn, 0x222u);
  EXPECT_EQ(to.dest_qp_num, 0x333u);
  EXPECT_EQ(to.qp_access_flags, static_cast<unsigned int>(IBV_ACCESS_REMOTE_WRITE));
  EXPECT_EQ(to.cap.max_send_wr, 17u);
  EXPECT_EQ(to.cap.max_inline_data, 18u);
  EXPECT_EQ(to.ah_attr.sl, 3);
  EXPECT_EQ(to.alt_ah_attr.sl, 4);
  EXPECT_EQ(to.max_rd_atomic, 5);
  EXPECT_EQ(to.max_dest_rd_atomic, 6);
  EXPECT_EQ(to.min_rnr_timer, 7);
  EXPECT_EQ(to.timeout, 8);
  EXPECT_EQ(to.retry_cnt, 9);
  EXPECT_EQ(to.rnr_retry, 10);
  EXPECT_EQ(to.alt_timeout, 11);
}

TEST(KernelStructs, PathRecordsSurviveTheWayThereAndBack) {
  ibv_sa_path_rec from{};
  from.dgid.raw[0] = 0xfe;
  from.sgid.raw[1] = 0x80;
  from.dlid = 1;
  from.slid = 2;
  from.raw_traffic = 3;
  from.flow_label = 4;
  from.hop_limit = 5;
  from.traffic_class = 6;
  from.reversible = 1;
  from.numb_path = 7;
  from.pkey = 0xffff;
  from.sl = 8;
  from.mtu_selector = 2;
  from.mtu = IBV_MTU_4096;
  from.rate_selector = 2;
  from.rate = IBV_RATE_100_GBPS;
  from.packet_life_time_selector = 2;
  from.packet_life_time = 18;
  from.preference = 9;
  ib_user_path_rec kernel{};
  ibv_copy_path_rec_to_kern(&kernel, &from);
  EXPECT_EQ(kernel.mtu, std::uint32_t{IBV_MTU_4096});
  EXPECT_EQ(kernel.packet_life_time, 18);
  ibv_sa_path_rec back{};
  ibv_copy_path_rec_from_kern(&back, &kernel);
  EXPECT_EQ(std::memcmp(&back, &from, sizeof(from)), 0);
}

}  // namespace
}  // namespace urnic::test
