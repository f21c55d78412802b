// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What programs learn about the device before they do anything with it.
#include <endian.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/unit/verbs_api/verbs_objects.h"

// Exported, but not declared in the installed headers.
extern "C" {
const char* ibv_get_sysfs_path();
int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, std::size_t size);
}

namespace urnic::test {
namespace {

TEST(DeviceList, HasOneChannelAdapterNamedUrnic0) {
  int count = -1;
  ibv_device** const list = ibv_get_device_list(&count);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(list[1], nullptr);
  EXPECT_STREQ(ibv_get_device_name(list[0]), "urnic0");
  EXPECT_EQ(list[0]->node_type, IBV_NODE_CA);
  EXPECT_EQ(list[0]->transport_type, IBV_TRANSPORT_IB);
  EXPECT_NE(ibv_get_device_guid(list[0]), 0u);
  ibv_free_device_list(list);
}

TEST(DeviceList, NamesTheSameDeviceEveryTime) {
  ibv_device** const first = ibv_get_device_list(nullptr);
  ibv_device* const device = first[0];
  ibv_free_device_list(first);
  ibv_device** const second = ibv_get_device_list(nullptr);
  EXPECT_EQ(second[0], device);
  ibv_free_device_list(second);
}

TEST(DeviceList, FreesNothingWhenGivenNothing) {
  ibv_free_device_list(nullptr);
}

// libmlx5 and libefa read the pointer after the public struct to see whether a device is theirs.
TEST(DeviceList, DevicesHaveAReadablePointerBehindThem) {
  ibv_device** const list = ibv_get_device_list(nullptr);
  const void* operations = nullptr;
  std::memcpy(&operations, list[0] + 1, sizeof(operations));
  ASSERT_NE(operations, nullptr);
  const void* first_operation = nullptr;
  std::memcpy(&first_operation, operations, sizeof(first_operation));
  EXPECT_EQ(first_operation, nullptr);
  ibv_free_device_list(list);
}

TEST(OpenDevice, RefusesNothing) {
  errno = 0;
  EXPECT_EQ(ibv_open_device(nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(OpenDevice, GivesContextsWithDescriptorsOfTheirOwn) {
  const ContextPtr first = open_device();
  const ContextPtr second = open_device();
  EXPECT_NE(first, second);
  EXPECT_GE(first->cmd_fd, 0);
  EXPECT_NE(first->async_fd, second->async_fd);
  EXPECT_GE(first->num_comp_vectors, 1);
}

TEST(OpenDevice, LeavesNullWhatIsNotOffered) {
  const ContextPtr context = open_device();
  EXPECT_EQ(verbs_get_ctx_op(context.get(), create_flow_action_esp), nullptr);
  EXPECT_NE(verbs_get_ctx_op(context.get(), create_qp_ex), nullptr);
  // Those are called without a look.
  EXPECT_NE(context->ops.poll_cq, nullptr);
  EXPECT_NE(context->ops.req_notify_cq, nullptr);
  EXPECT_NE(context->ops.post_send, nullptr);
  EXPECT_NE(context->ops.post_recv, nullptr);
  EXPECT_NE(context->ops.post_srq_recv, nullptr);
  EXPECT_NE(context->ops.bind_mw, nullptr);
  EXPECT_NE(context->ops.dealloc_mw, nullptr);
  EXPECT_NE(verbs_get_ctx(context.get())->close_xrcd, nullptr);
}

TEST(QueryDevice, TellsWhatClientsInsistOn) {
  const ContextPtr context = open_device();
  ibv_device_attr attributes{};
  ASSERT_EQ(ibv_query_device(context.get(), &attributes), 0);
  EXPECT_EQ(attributes.node_guid, ibv_get_device_guid(context->device));
  EXPECT_NE(attributes.vendor_id, 0u);
  EXPECT_GT(attributes.max_qp, 0);
  // perftest asks each side for what the other one offers, and rdma_rxe offers 128.
  EXPECT_GE(attributes.max_qp_rd_atom, 128);
  EXPECT_GE(attributes.max_qp_init_rd_atom, 128);
  EXPECT_GE(attributes.max_res_rd_atom, attributes.max_qp_rd_atom);
  EXPECT_GT(attributes.max_cqe, 0);
  EXPECT_GT(attributes.max_pkeys, 0);
  EXPECT_GE(attributes.page_size_cap, 4096u);
  EXPECT_EQ(attributes.phys_port_cnt, 1);
  EXPECT_EQ(attributes.atomic_cap, IBV_ATOMIC_HCA);
  EXPECT_GT(attributes.max_srq, 0);
  EXPECT_GT(attributes.max_srq_wr, 0);
  EXPECT_GT(attributes.max_srq_sge, 0);
  EXPECT_GT(attributes.max_mw, 0);
  EXPECT_GT(attributes.max_mcast_grp, 0);
  EXPECT_GT(attributes.max_mcast_qp_attach, 0);
  EXPECT_GT(attributes.max_raw_ethy_qp, 0);
  constexpr unsigned int kOffered = IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MANAGED_FLOW_STEERING;
  EXPECT_EQ(attributes.device_cap_flags & kOffered, kOffered);
  EXPECT_NE(attributes.device_cap_flags & IBV_DEVICE_SRQ_RESIZE, 0u);
  // Storage targets answer by SEND with invalidate only where they see it.
  EXPECT_NE(attributes.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS, 0u);
  EXPECT_EQ(attributes.max_raw_ipv6_qp, 0);
}

// CMakeLists.txt runs the tests of windows once more for the other type.
TEST(QueryDevice, SaysOfWhichTypeTwoMemoryWindowsAre) {
  const char* const setting = std::getenv("URNIC_MW_TYPE_2");
  const bool is_2a = setting != nullptr && std::string_view(setting) == "2A";
  const ContextPtr context = open_device();
  ibv_device_attr attributes{};
  ASSERT_EQ(ibv_query_device(context.get(), &attributes), 0);
  constexpr unsigned int kBoth = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  EXPECT_EQ(attributes.device_cap_flags & kBoth,
            static_cast<unsigned int>(is_2a ? IBV_DEVICE_MEM_WINDOW_TYPE_2A : IBV_DEVICE_MEM_WINDOW_TYPE_2B));
}

TEST(QueryDevice, SaysTheSameInItsExtendedForm) {
  const ContextPtr context = open_device();
  ibv_device_attr plain{};
  ibv_device_attr_ex extended{};
  ASSERT_EQ(ibv_query_device(context.get(), &plain), 0);
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &extended), 0);
  EXPECT_EQ(std::memcmp(&plain, &extended.orig_attr, sizeof(plain)), 0);
  EXPECT_EQ(extended.phys_port_cnt_ex, 1u);
  EXPECT_EQ(extended.cq_mod_caps.max_cq_count, 65535u);
  EXPECT_EQ(extended.cq_mod_caps.max_cq_period, 65535u);
}

TEST(QueryDevice, WritesNoMoreThanTheCallersStruct) {
  const ContextPtr context = open_device();
  std::vector<std::uint8_t> memory(sizeof(ibv_device_attr_ex) + 64, 0xaa);
  auto* const attributes = reinterpret_cast<ibv_device_attr_ex*>(memory.data());
  const std::size_t older = sizeof(ibv_device_attr) + 16;
  ASSERT_EQ(verbs_get_ctx(context.get())->query_device_ex(context.get(), nullptr, attributes, older), 0);
  EXPECT_EQ(memory[older - 1], 0);
  EXPECT_EQ(memory[older], 0xaa);
  const std::size_t newer = memory.size();
  ASSERT_EQ(verbs_get_ctx(context.get())->query_device_ex(context.get(), nullptr, attributes, newer), 0);
  EXPECT_EQ(memory[newer - 1], 0);
}

TEST(QueryPort, IsAnActiveEthernetLinkThatNeedsAGrh) {
  const ContextPtr context = open_device();
  ibv_port_attr attributes{};
  ASSERT_EQ(ibv_query_port(context.get(), 1, &attributes), 0);
  EXPECT_EQ(attributes.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(attributes.phys_state, 5);
  EXPECT_EQ(attributes.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(attributes.flags & IBV_QPF_GRH_REQUIRED, IBV_QPF_GRH_REQUIRED);
  EXPECT_EQ(attributes.max_mtu, IBV_MTU_4096);  // link MTU 4200 (fact 41)
  EXPECT_EQ(attributes.active_mtu, IBV_MTU_4096);
  EXPECT_EQ(attributes.lid, 0);
  EXPECT_EQ(attributes.pkey_tbl_len, 1);
  EXPECT_GT(attributes.max_msg_sz, 4096u);
  EXPECT_GE(attributes.gid_tbl_len, 16);
}

TEST(QueryPort, KnowsOnePortOnly) {
  const ContextPtr context = open_device();
  ibv_port_attr attributes{};
  EXPECT_EQ(ibv_query_port(context.get(), 0, &attributes), EINVAL);
  EXPECT_EQ(ibv_query_port(context.get(), 2, &attributes), EINVAL);
}

// NCCL and programs from before 2018 call the exported function, whose struct ends before port_cap_flags2.
TEST(QueryPort, WritesTheOldStructForThoseWhoCallTheFunction) {
  const ContextPtr context = open_device();
  std::vector<std::uint8_t> memory(sizeof(ibv_port_attr), 0xaa);
  ASSERT_EQ((ibv_query_port)(context.get(), 1, reinterpret_cast<_compat_ibv_port_attr*>(memory.data())), 0);
  EXPECT_EQ(reinterpret_cast<ibv_port_attr*>(memory.data())->state, IBV_PORT_ACTIVE);
  EXPECT_EQ(memory[offsetof(ibv_port_attr, port_cap_flags2)], 0xaa);
}

TEST(QueryPkey, HasTheDefaultKeyAtIndexZeroAndNothingElse) {
  const ContextPtr context = open_device();
  __be16 pkey = 0;
  ASSERT_EQ(ibv_query_pkey(context.get(), 1, 0, &pkey), 0);
  EXPECT_EQ(be16toh(pkey), 0xffff);
  EXPECT_EQ(ibv_query_pkey(context.get(), 1, 1, &pkey), -1);
  EXPECT_EQ(ibv_query_pkey(context.get(), 2, 0, &pkey), -1);
  EXPECT_EQ(ibv_get_pkey_index(context.get(), 1, htobe16(0x7fff)), 0);
  EXPECT_EQ(ibv_get_pkey_index(context.get(), 1, htobe16(0x1234)), -1);
}

TEST(Sysfs, AnswersBelowTheDevicesOwnPath) {
  const ContextPtr context = open_device();
  char text[64] = {};
  EXPECT_GT(ibv_read_sysfs_file(context->device->ibdev_path, "board_id", text, sizeof(text)), 0);
  EXPECT_EQ(ibv_read_sysfs_file(context->device->ibdev_path, "ports/1/gids/1", text, sizeof(text)), 39);
  EXPECT_STREQ(text, "0000:0000:0000:0000:0000:ffff:0a4d:0901");
  EXPECT_EQ(ibv_read_sysfs_file(context->device->ibdev_path, "ports/1/gid_attrs/types/1", text, sizeof(text)),
            7);
  EXPECT_STREQ(text, "RoCE v2");
  EXPECT_EQ(ibv_read_sysfs_file(context->device->ibdev_path, "ports/1/gid_attrs/types/5", text, sizeof(text)),
            -1);
  EXPECT_EQ(ibv_read_sysfs_file(context->device->ibdev_path, "no_such_file", text, sizeof(text)), -1);
  EXPECT_EQ(ibv_read_sysfs_file(context->device->ibdev_path, "ecn/roce_np/cnp_dscp", text, sizeof(text)), 2);
  EXPECT_STREQ(text, "48");
}

TEST(Sysfs, ReadsOtherFilesWithoutTheirLineFeed) {
  EXPECT_STREQ(ibv_get_sysfs_path(), "/sys");
  char text[64] = {};
  const int length = ibv_read_sysfs_file("/proc/sys/kernel", "ostype", text, sizeof(text));
  EXPECT_EQ(length, 5);
  EXPECT_STREQ(text, "Linux");
  EXPECT_EQ(ibv_read_sysfs_file("/proc/sys/kernel", "ostype", text, 5), -1);
}

}  // namespace
}  // namespace urnic::test
