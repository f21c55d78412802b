// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Queue pairs of raw packets: what they send and receive, and their states.
#include <cstring>

#include "tests/unit/verbs_api/raw_packet_objects.h"

namespace urnic::test {
namespace {

TEST_F(RawPacket, GoesWhereARuleSays) {
  const FlowPtr flow = add(udp_rule());
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(flow->context, context_.get());
  Buffer from(pd_.get(), 100);
  Buffer to(pd_.get(), 200);
  write_frame(from);
  ASSERT_EQ(post_receive(b_.get(), 7, {to.sge()}), 0);
  ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {from.sge(0, 30), from.sge(30, 70)}), 0);
  const ibv_wc sent = next_completion(cq_a_.get());
  EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent.opcode, IBV_WC_SEND);
  const ibv_wc received = next_completion(cq_b_.get());
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.opcode, IBV_WC_RECV);
  EXPECT_EQ(received.wr_id, 7u);
  EXPECT_EQ(received.qp_num, b_->qp_num);
  EXPECT_EQ(received.byte_len, 100u);
  EXPECT_EQ(received.wc_flags, 0u);
  EXPECT_EQ(std::memcmp(to.data(), from.data(), 100), 0);
}

TEST_F(RawPacket, GoesNowhereWithoutARule) {
  Buffer buffer(pd_.get(), 100);
  write_frame(buffer);
  ASSERT_EQ(post_receive(b_.get(), 1, {buffer.sge()}), 0);
  ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(cq_a_.get()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(stays_empty(cq_b_.get()));
}

TEST_F(RawPacket, MayBeBuiltInline) {
  const FlowPtr flow = add(rule_without_specs(IBV_FLOW_ATTR_SNIFFER));
  ASSERT_NE(flow, nullptr);
  ibv_qp_init_attr_ex init_attr{};
  init_attr.qp_type = IBV_QPT_RAW_PACKET;
  init_attr.pd = pd_.get();
  init_attr.send_cq = init_attr.recv_cq = cq_a_.get();
  init_attr.cap = qp_attributes(IBV_QPT_RAW_PACKET, cq_a_.get()).cap;
  init_attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init_attr.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM;
  EXPECT_EQ(ibv_create_qp_ex(context_.get(), &init_attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  init_attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
  const QpPtr qp(ibv_create_qp_ex(context_.get(), &init_attr));
  ASSERT_NE(qp, nullptr);
  ASSERT_EQ(start_raw_packets(qp.get()), 0);
  Buffer frame(pd_.get(), 64);
  Buffer to(pd_.get(), 64);
  write_frame(frame);
  ASSERT_EQ(post_receive(b_.get(), 1, {to.sge()}), 0);
  ibv_qp_ex* const builder = ibv_qp_to_qp_ex(qp.get());
  ibv_wr_start(builder);
  builder->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(builder);
  ibv_wr_set_inline_data(builder, frame.data(), 64);
  ASSERT_EQ(ibv_wr_complete(builder), 0);
  EXPECT_EQ(next_completion(cq_b_.get()).byte_len, 64u);
  EXPECT_EQ(to.bytes(), frame.bytes());
  EXPECT_EQ(next_completion(cq_a_.get()).status, IBV_WC_SUCCESS);
}

TEST_F(RawPacket, IsTooLongBeyondTheLinkMtu) {
  Buffer buffer(pd_.get(), 16384);
  ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(cq_a_.get()).status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(RawPacket, IsTooLongForASmallReceive) {
  const FlowPtr flow = add(udp_rule());
  Buffer buffer(pd_.get(), 100);
  write_frame(buffer);
  ASSERT_EQ(post_receive(b_.get(), 1, {buffer.sge(0, 99)}), 0);
  ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(cq_b_.get()).status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(RawPacket, IsSentWithNothingElse) {
  Buffer buffer(pd_.get(), 64);
  for (const ibv_wr_opcode opcode :
       {IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND_WITH_INV}) {
    EXPECT_EQ(post_send(a_.get(), request(opcode), {buffer.sge()}), EINVAL) << opcode;
  }
  EXPECT_EQ(post_send(a_.get(), request(IBV_WR_TSO), {buffer.sge()}), EOPNOTSUPP);
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.send_flags |= IBV_SEND_IP_CSUM;
  EXPECT_EQ(post_send(a_.get(), wr, {buffer.sge()}), EINVAL);
}

TEST_F(RawPacket, QueuePairNeedsItsPortAndNothingElse) {
  const QpPtr qp = create(cq_a_.get());
  EXPECT_EQ(modify(qp.get(), IBV_QPS_INIT), EINVAL);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX), EINVAL);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_INIT, IBV_QP_PORT), 0);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_RTS), EINVAL);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_RTR), 0);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_RTS, IBV_QP_SQ_PSN), EINVAL);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_RTS), 0);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr created{};
  ASSERT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_STATE, &created), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(created.qp_type, IBV_QPT_RAW_PACKET);
}

TEST_F(RawPacket, QueuePairHasNoOffloads) {
  ibv_qp_init_attr_ex init_attr{};
  init_attr.qp_type = IBV_QPT_RAW_PACKET;
  init_attr.pd = pd_.get();
  init_attr.send_cq = init_attr.recv_cq = cq_a_.get();
  init_attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  for (const std::uint32_t flag : {IBV_QP_CREATE_SCATTER_FCS, IBV_QP_CREATE_CVLAN_STRIPPING}) {
    init_attr.create_flags = flag;
    errno = 0;
    EXPECT_EQ(ibv_create_qp_ex(context_.get(), &init_attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
  }
  init_attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  init_attr.max_tso_header = 64;
  EXPECT_EQ(ibv_create_qp_ex(context_.get(), &init_attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace urnic::test
