// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Unreliable connections (UC) between two queue pairs of the same device.
#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

class UnreliableConnection : public testing::Test {
 protected:
  Pair pair_{/*all_signaled=*/false, IBV_QPT_UC};
};

TEST_F(UnreliableConnection, SendsMessagesOfManyPackets) {
  Buffer from(pair_.pd(), 5000);
  Buffer to(pair_.pd(), 5000);
  from.fill(1);
  ASSERT_EQ(post_receive(pair_.b(), 7, {to.sge()}), 0);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_SEND), {from.sge()}), 0);
  const ibv_wc received = next_completion(pair_.cq_b());
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.byte_len, 5000u);
  EXPECT_EQ(received.wc_flags, 0u);
  EXPECT_EQ(to.bytes(), from.bytes());
  EXPECT_EQ(next_completion(pair_.cq_a()).opcode, IBV_WC_SEND);
}

TEST_F(UnreliableConnection, Writes) {
  Buffer from(pair_.pd(), 100);
  Buffer to(pair_.pd(), 100);
  from.fill(2);
  ASSERT_EQ(post_receive(pair_.b(), 1, {}), 0);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_RDMA_WRITE_WITH_IMM, to), {from.sge()}), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(to.bytes(), from.bytes());
}

// A message without a receive is lost: the sender does not notice, and the receiver goes on.
TEST_F(UnreliableConnection, LosesWhatNobodyWaitsFor) {
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_SEND), {}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(stays_empty(pair_.cq_b()));
  ASSERT_EQ(post_receive(pair_.b(), 1, {}), 0);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_SEND), {}), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).wr_id, 1u);
}

TEST_F(UnreliableConnection, RefusesWhatNeedsAnAnswer) {
  Buffer buffer(pair_.pd(), 8);
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
                                     IBV_WR_ATOMIC_WRITE, IBV_WR_SEND_WITH_INV}) {
    EXPECT_EQ(post_send(pair_.a(), request(opcode), {buffer.sge()}), EINVAL) << opcode;
  }
}

TEST_F(UnreliableConnection, HasNoTimersToSet) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(pair_.a(), &attributes, IBV_QP_STATE | IBV_QP_TIMEOUT), EINVAL);
}

TEST_F(UnreliableConnection, TellsThatItIsDrained) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_SQD;
  attributes.en_sqd_async_notify = 1;
  ASSERT_EQ(ibv_modify_qp(pair_.a(), &attributes, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(pair_.context(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SQ_DRAINED);
  EXPECT_EQ(event.element.qp, pair_.a());
  ibv_ack_async_event(&event);
  attributes.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(pair_.a(), &attributes, IBV_QP_STATE), 0);
}

}  // namespace
}  // namespace urnic::test
