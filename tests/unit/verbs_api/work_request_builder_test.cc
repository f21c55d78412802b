// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Posting by the functions of ibv_qp_ex.
#include <endian.h>

#include <cstring>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

constexpr std::uint64_t kAllOperations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                         IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                         IBV_QP_EX_WITH_RDMA_READ;

class WorkRequestBuilder : public testing::Test {
 protected:
  WorkRequestBuilder() {
    qp_.reset(create(kAllOperations));
    EXPECT_NE(qp_, nullptr);
    ex_ = ibv_qp_to_qp_ex(qp_.get());
    EXPECT_NE(ex_, nullptr);
    ibv_qp_init_attr of_peer = rc_attributes(cq_peer_.get());
    peer_.reset(ibv_create_qp(pd_.get(), &of_peer));
    EXPECT_EQ(connect(qp_.get(), peer_->qp_num), 0);
    EXPECT_EQ(connect(peer_.get(), qp_->qp_num), 0);
  }

  ibv_qp* create(std::uint64_t operations) {
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = cq_.get();
    attributes.recv_cq = cq_.get();
    attributes.cap = rc_attributes(nullptr).cap;
    attributes.qp_type = IBV_QPT_RC;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.pd = pd_.get();
    attributes.send_ops_flags = operations;
    return ibv_create_qp_ex(context_.get(), &attributes);
  }

  void begin(std::uint64_t wr_id) {
    ex_->wr_id = wr_id;
    ex_->wr_flags = IBV_SEND_SIGNALED;
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const CqPtr cq_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  const CqPtr cq_peer_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  QpPtr qp_;
  QpPtr peer_;
  ibv_qp_ex* ex_ = nullptr;
};

TEST_F(WorkRequestBuilder, PostsEveryOperationInOneBatch) {
  Buffer local(pd_.get(), 400);
  Buffer remote(pd_.get(), 400);
  Buffer received(pd_.get(), 400);
  Buffer fetched(pd_.get(), 400);
  local.fill(1);
  ASSERT_EQ(post_receive(peer_.get(), 1, {received.sge()}), 0);
  ASSERT_EQ(post_receive(peer_.get(), 2, {}), 0);
  ASSERT_EQ(post_receive(peer_.get(), 3, {}), 0);
  const ibv_sge list[2] = {local.sge(300, 50), local.sge(0, 50)};

  ibv_wr_start(ex_);
  begin(11);
  ibv_wr_send(ex_);
  ibv_wr_set_sge_list(ex_, 2, list);
  begin(12);
  ibv_wr_send_imm(ex_, htobe32(0xb2));
  begin(13);
  ibv_wr_rdma_write(ex_, remote.rkey(), remote.address());
  ibv_wr_set_sge(ex_, local.mr()->lkey, local.address(), 400);
  begin(14);
  ibv_wr_rdma_write_imm(ex_, remote.rkey(), remote.address(), htobe32(0xb4));
  begin(15);
  ibv_wr_rdma_read(ex_, remote.rkey(), remote.address());
  ibv_wr_set_sge(ex_, fetched.mr()->lkey, fetched.address(), 400);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);

  for (std::uint64_t wr_id = 11; wr_id <= 15; ++wr_id) {
    const ibv_wc completion = next_completion(cq_.get());
    EXPECT_EQ(completion.wr_id, wr_id);
    EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
  }
  EXPECT_EQ(next_completion(cq_peer_.get()).byte_len, 100u);
  EXPECT_EQ(be32toh(next_completion(cq_peer_.get()).imm_data), 0xb2u);
  EXPECT_EQ(be32toh(next_completion(cq_peer_.get()).imm_data), 0xb4u);
  EXPECT_EQ(std::memcmp(received.data(), local.data() + 300, 50), 0);
  EXPECT_EQ(std::memcmp(received.data() + 50, local.data(), 50), 0);
  EXPECT_EQ(remote.bytes(), local.bytes());
  EXPECT_EQ(fetched.bytes(), local.bytes());
}

TEST_F(WorkRequestBuilder, CopiesInlineDataWhenItIsSet) {
  Buffer received(pd_.get(), 64);
  ASSERT_EQ(post_receive(peer_.get(), 1, {received.sge()}), 0);
  char first[] = "abc";
  char second[] = "defg";
  const ibv_data_buf pieces[2] = {{first, 3}, {second, 4}};
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_inline_data_list(ex_, 2, pieces);
  std::memset(first, 0, sizeof(first));
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  EXPECT_EQ(next_completion(cq_peer_.get()).byte_len, 7u);
  EXPECT_EQ(std::memcmp(received.data(), "abcdefg", 7), 0);
}

TEST_F(WorkRequestBuilder, ShowsNothingBeforeItIsComplete) {
  ASSERT_EQ(post_receive(peer_.get(), 1, {}), 0);
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_sge_list(ex_, 0, nullptr);
  EXPECT_TRUE(stays_empty(cq_peer_.get()));
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  EXPECT_EQ(next_completion(cq_peer_.get()).wr_id, 1u);
}

TEST_F(WorkRequestBuilder, ForgetsAnAbortedBatch) {
  ASSERT_EQ(post_receive(peer_.get(), 1, {}), 0);
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_sge_list(ex_, 0, nullptr);
  ibv_wr_abort(ex_);
  EXPECT_TRUE(stays_empty(cq_peer_.get()));
}

TEST_F(WorkRequestBuilder, PostsNothingOfABatchWithTooManyElements) {
  ASSERT_EQ(post_receive(peer_.get(), 1, {}), 0);
  const std::vector<ibv_sge> too_many(rc_attributes(nullptr).cap.max_send_sge + 1, ibv_sge{});
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_sge_list(ex_, 0, nullptr);
  begin(2);
  ibv_wr_send(ex_);
  ibv_wr_set_sge_list(ex_, too_many.size(), too_many.data());
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
  EXPECT_TRUE(stays_empty(cq_peer_.get()));
  // The next batch is not spoiled.
  ibv_wr_start(ex_);
  begin(3);
  ibv_wr_send(ex_);
  EXPECT_EQ(ibv_wr_complete(ex_), 0);
  EXPECT_EQ(next_completion(cq_peer_.get()).wr_id, 1u);
}

TEST_F(WorkRequestBuilder, RefusesOversizedInlineDataAndFullQueues) {
  std::vector<std::uint8_t> data(5000);
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_inline_data(ex_, data.data(), data.size());
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
  ibv_wr_start(ex_);
  for (std::uint64_t i = 0; i < 100; ++i) {
    begin(i);
    ibv_wr_send(ex_);
    ibv_wr_set_sge_list(ex_, 0, nullptr);
  }
  EXPECT_EQ(ibv_wr_complete(ex_), ENOMEM);
}

TEST_F(WorkRequestBuilder, SpoilsABatchWithOperationsThatWereNotAskedFor) {
  const QpPtr sends_only(create(IBV_QP_EX_WITH_SEND));
  ASSERT_EQ(connect(sends_only.get(), peer_->qp_num), 0);
  ibv_qp_ex* const ex = ibv_qp_to_qp_ex(sends_only.get());
  ibv_wr_start(ex);
  ibv_wr_rdma_write(ex, 1, 2);
  ibv_wr_set_sge_list(ex, 0, nullptr);
  EXPECT_EQ(ibv_wr_complete(ex), EOPNOTSUPP);
  ibv_wr_start(ex);
  ibv_wr_atomic_fetch_add(ex, 1, 2, 3);
  ibv_wr_set_sge_list(ex, 0, nullptr);
  EXPECT_EQ(ibv_wr_complete(ex), EOPNOTSUPP);
}

TEST_F(WorkRequestBuilder, IsNotMadeForOperationsThatDoNotExist) {
  errno = 0;
  EXPECT_EQ(create(IBV_QP_EX_WITH_TSO), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(WorkRequestBuilder, NeedsAProtectionDomainAndKnownFlags) {
  ibv_qp_init_attr_ex attributes{};
  attributes.send_cq = cq_.get();
  attributes.recv_cq = cq_.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  errno = 0;
  EXPECT_EQ(ibv_create_qp_ex(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attributes.pd = pd_.get();
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  attributes.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  EXPECT_EQ(ibv_create_qp_ex(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace urnic::test
