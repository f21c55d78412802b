// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Making completion queues, and polling them the extended way.
#include <endian.h>
#include <sys/sysinfo.h>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

TEST(CompletionQueue, HoldsAtLeastWhatWasAskedFor) {
  const ContextPtr context = open_device();
  int something = 0;
  const CqPtr cq(ibv_create_cq(context.get(), 100, &something, nullptr, 0));
  ASSERT_NE(cq, nullptr);
  EXPECT_GE(cq->cqe, 100);
  EXPECT_EQ(cq->cq_context, &something);
}

TEST(CompletionQueue, RefusesImpossibleSizesAndVectors) {
  const ContextPtr context = open_device();
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context.get(), &device), 0);
  for (const int size : {0, -1, device.max_cqe + 1}) {
    errno = 0;
    EXPECT_EQ(ibv_create_cq(context.get(), size, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  for (const int vector : {-1, context->num_comp_vectors}) {
    errno = 0;
    EXPECT_EQ(ibv_create_cq(context.get(), 8, nullptr, nullptr, vector), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
}

// Programs give each of their threads a vector of its own. Vectors are hints: there is one thread that
// completes.
TEST(CompletionQueue, TakesAVectorForEachProcessor) {
  const ContextPtr context = open_device();
  EXPECT_EQ(context->num_comp_vectors, get_nprocs());
  for (int vector = 0; vector < context->num_comp_vectors; ++vector) {
    EXPECT_NE(CqPtr(ibv_create_cq(context.get(), 8, nullptr, nullptr, vector)), nullptr);
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 8;
    attributes.comp_vector = static_cast<std::uint32_t>(vector);
    ibv_cq_ex* const extended = ibv_create_cq_ex(context.get(), &attributes);
    ASSERT_NE(extended, nullptr);
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(extended)), 0);
  }
}

// A program may free what its wr_id point to as soon as the queue pair is gone.
TEST(CompletionQueue, LosesTheCompletionsOfAQueuePairThatIsDestroyed) {
  const ContextPtr context = open_device();
  const PdPtr pd(ibv_alloc_pd(context.get()));
  const CqPtr cq(ibv_create_cq(context.get(), 64, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  QpPtr qp(ibv_create_qp(pd.get(), &attributes));
  const QpPtr other(ibv_create_qp(pd.get(), &attributes));
  for (ibv_qp* const failing : {qp.get(), other.get()}) {
    ASSERT_EQ(to_init(failing), 0);
    ASSERT_EQ(post_receive(failing, failing == other.get() ? 2 : 1, {}), 0);
    ibv_qp_attr error{};
    error.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(failing, &error, IBV_QP_STATE), 0);
  }
  qp.reset();
  EXPECT_EQ(next_completion(cq.get()).wr_id, 2u);
  ibv_wc nothing{};
  EXPECT_EQ(ibv_poll_cq(cq.get(), 1, &nothing), 0);
}

/// A connection whose B side is made with ibv_create_cq_ex.
class ExtendedCompletionQueue : public testing::Test {
 protected:
  ExtendedCompletionQueue() {
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 16;
    attributes.wc_flags = IBV_WC_STANDARD_FLAGS;
    extended_ = ibv_create_cq_ex(context_.get(), &attributes);
    EXPECT_NE(extended_, nullptr);
    cq_b_.reset(ibv_cq_ex_to_cq(extended_));
    ibv_qp_init_attr of_a = rc_attributes(cq_a_.get());
    ibv_qp_init_attr of_b = rc_attributes(cq_b_.get());
    a_.reset(ibv_create_qp(pd_.get(), &of_a));
    b_.reset(ibv_create_qp(pd_.get(), &of_b));
    EXPECT_EQ(connect(a_.get(), b_->qp_num), 0);
    EXPECT_EQ(connect(b_.get(), a_->qp_num), 0);
  }

  void send_one(std::uint64_t wr_id, std::uint32_t immediate) {
    ASSERT_EQ(post_receive(b_.get(), wr_id, {}), 0);
    ibv_send_wr wr = request(IBV_WR_SEND_WITH_IMM);
    wr.imm_data = htobe32(immediate);
    ASSERT_EQ(post_send(a_.get(), wr, {}), 0);
    ASSERT_EQ(next_completion(cq_a_.get()).status, IBV_WC_SUCCESS);
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const CqPtr cq_a_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  ibv_cq_ex* extended_ = nullptr;
  CqPtr cq_b_;
  QpPtr a_;
  QpPtr b_;
};

TEST_F(ExtendedCompletionQueue, IsNotThereWhenEmpty) {
  ibv_poll_cq_attr attributes{};
  EXPECT_EQ(ibv_start_poll(extended_, &attributes), ENOENT);
  // And is not locked afterwards.
  EXPECT_EQ(ibv_start_poll(extended_, &attributes), ENOENT);
}

TEST_F(ExtendedCompletionQueue, ReadsOneCompletionAfterTheOther) {
  send_one(21, 0xa1);
  send_one(22, 0xa2);
  ibv_poll_cq_attr attributes{};
  ASSERT_EQ(ibv_start_poll(extended_, &attributes), 0);
  EXPECT_EQ(extended_->wr_id, 21u);
  EXPECT_EQ(extended_->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(extended_), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_byte_len(extended_), 0u);
  EXPECT_EQ(ibv_wc_read_wc_flags(extended_), static_cast<unsigned int>(IBV_WC_WITH_IMM));
  EXPECT_EQ(be32toh(ibv_wc_read_imm_data(extended_)), 0xa1u);
  EXPECT_EQ(ibv_wc_read_qp_num(extended_), b_->qp_num);
  EXPECT_EQ(ibv_wc_read_vendor_err(extended_), 0u);
  ASSERT_EQ(ibv_next_poll(extended_), 0);
  EXPECT_EQ(extended_->wr_id, 22u);
  EXPECT_EQ(be32toh(ibv_wc_read_imm_data(extended_)), 0xa2u);
  EXPECT_EQ(ibv_next_poll(extended_), ENOENT);
  ibv_end_poll(extended_);
}

TEST_F(ExtendedCompletionQueue, ServesPlainPollingToo) {
  send_one(23, 1);
  EXPECT_EQ(next_completion(cq_b_.get()).wr_id, 23u);
}

TEST_F(ExtendedCompletionQueue, RefusesDetailsItCannotGive) {
  for (const std::uint64_t flag : {IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO}) {
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 16;
    attributes.wc_flags = flag;
    errno = 0;
    EXPECT_EQ(ibv_create_cq_ex(context_.get(), &attributes), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
  }
}

TEST_F(ExtendedCompletionQueue, RefusesFlagsItDoesNotKnow) {
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = 16;
  attributes.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  attributes.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  errno = 0;
  EXPECT_EQ(ibv_create_cq_ex(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace urnic::test
