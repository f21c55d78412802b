// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Making queue pairs and changing their state; the errno values.
#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

class QueuePair : public testing::Test {
 protected:
  /// Tries to make one, and gives the errno value.
  int create_with(ibv_qp_init_attr attributes) {
    errno = 0;
    const QpPtr qp(ibv_create_qp(pd_.get(), &attributes));
    EXPECT_EQ(qp == nullptr, errno != 0);
    return errno;
  }

  QpPtr create() {
    ibv_qp_init_attr attributes = rc_attributes(cq_.get());
    return QpPtr(ibv_create_qp(pd_.get(), &attributes));
  }

  static int modify(ibv_qp* qp, const ibv_qp_attr& attributes, int mask) {
    ibv_qp_attr copy = attributes;
    return ibv_modify_qp(qp, &copy, mask);
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const CqPtr cq_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
};

TEST_F(QueuePair, BeginsInResetWithAtLeastWhatWasAskedFor) {
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  attributes.cap.max_send_wr = 13;
  attributes.qp_context = this;
  const QpPtr qp(ibv_create_qp(pd_.get(), &attributes));
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
  EXPECT_EQ(qp->qp_type, IBV_QPT_RC);
  EXPECT_EQ(qp->qp_context, this);
  EXPECT_GT(qp->qp_num, 1u);
  EXPECT_LE(qp->qp_num, 0xffffffu);
  EXPECT_GE(attributes.cap.max_send_wr, 13u);
  EXPECT_GE(attributes.cap.max_inline_data, 64u);
}

TEST_F(QueuePair, OfOtherTypesIsNotSupported) {
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  attributes.qp_type = IBV_QPT_DRIVER;
  EXPECT_EQ(create_with(attributes), EOPNOTSUPP);
  attributes.qp_type = static_cast<ibv_qp_type>(77);
  EXPECT_EQ(create_with(attributes), EINVAL);
}

TEST_F(QueuePair, CannotBeLargerThanTheDeviceAllows) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context_.get(), &device), 0);
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  attributes.cap.max_send_wr = static_cast<std::uint32_t>(device.max_qp_wr) + 1;
  EXPECT_EQ(create_with(attributes), EINVAL);
  attributes = rc_attributes(cq_.get());
  attributes.cap.max_recv_sge = static_cast<std::uint32_t>(device.max_sge) + 1;
  EXPECT_EQ(create_with(attributes), EINVAL);
  attributes = rc_attributes(cq_.get());
  attributes.cap.max_inline_data = 1u << 20;
  EXPECT_EQ(create_with(attributes), EINVAL);
}

TEST_F(QueuePair, NeedsCompletionQueues) {
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  attributes.recv_cq = nullptr;
  EXPECT_EQ(create_with(attributes), EINVAL);
}

TEST_F(QueuePair, NumbersAreNotHandedOutAgainSoon) {
  const QpPtr first = create();
  const std::uint32_t number = first->qp_num;
  for (int i = 0; i < 8; ++i) EXPECT_NE(create()->qp_num, number);
}

TEST_F(QueuePair, ReportsWhatItWasGiven) {
  const QpPtr qp = create();
  ASSERT_EQ(connect(qp.get(), 0x123456), 0);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr created{};
  ASSERT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_STATE, &created), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attributes.dest_qp_num, 0x123456u);
  EXPECT_EQ(attributes.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(attributes.rq_psn, 0xfffffeu);
  EXPECT_EQ(attributes.sq_psn, 0xfffffeu);
  EXPECT_EQ(attributes.timeout, 14);
  EXPECT_EQ(attributes.retry_cnt, 7);
  EXPECT_EQ(attributes.rnr_retry, 7);
  EXPECT_EQ(attributes.max_rd_atomic, 4);
  EXPECT_EQ(attributes.max_dest_rd_atomic, 4);
  EXPECT_EQ(attributes.min_rnr_timer, 1);
  EXPECT_EQ(attributes.port_num, 1);
  EXPECT_EQ(attributes.qp_access_flags, static_cast<unsigned int>(kAllAccess));
  EXPECT_EQ(attributes.ah_attr.is_global, 1);
  EXPECT_EQ(attributes.ah_attr.grh.sgid_index, kIpv4Gid);
  EXPECT_EQ(attributes.ah_attr.grh.hop_limit, 64);
  EXPECT_EQ(created.send_cq, cq_.get());
  EXPECT_EQ(created.cap.max_send_sge, attributes.cap.max_send_sge);
  EXPECT_EQ(created.qp_type, IBV_QPT_RC);
}

// UCX's error handling looks at the field after it has asked for something else.
TEST_F(QueuePair, ShowsItsStateInItsFieldOnlyWhenTheStateIsAskedFor) {
  const QpPtr qp = create();
  ASSERT_EQ(to_ready_to_send(qp.get()), EINVAL) << "it is in RESET";
  qp->state = IBV_QPS_UNKNOWN;
  ibv_qp_attr attributes{};
  ibv_qp_init_attr created{};
  ASSERT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_CAP, &created), 0);
  EXPECT_EQ(qp->state, IBV_QPS_UNKNOWN);
  ASSERT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_STATE | IBV_QP_CAP, &created), 0);
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
}

TEST_F(QueuePair, GoesStepByStep) {
  const QpPtr qp = create();
  EXPECT_EQ(to_ready_to_send(qp.get()), EINVAL);
  EXPECT_EQ(to_ready_to_receive(qp.get(), 0x11), EINVAL);
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
  EXPECT_EQ(to_init(qp.get()), 0);
  EXPECT_EQ(qp->state, IBV_QPS_INIT);
  EXPECT_EQ(to_ready_to_receive(qp.get(), 0x11), 0);
  EXPECT_EQ(to_ready_to_send(qp.get()), 0);
  EXPECT_EQ(qp->state, IBV_QPS_RTS);
}

TEST_F(QueuePair, MayBeResetAndUsedAgain) {
  const QpPtr qp = create();
  ASSERT_EQ(connect(qp.get(), 0x11), 0);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  EXPECT_EQ(modify(qp.get(), attributes, IBV_QP_STATE), 0);
  attributes.qp_state = IBV_QPS_RESET;
  EXPECT_EQ(modify(qp.get(), attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(connect(qp.get(), 0x12), 0);
}

TEST_F(QueuePair, RefusesAttributesThatMakeNoSense) {
  const QpPtr qp = create();
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 2;
  constexpr int kInitMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  EXPECT_EQ(modify(qp.get(), attributes, kInitMask), EINVAL);
  attributes.port_num = 1;
  attributes.pkey_index = 1;
  EXPECT_EQ(modify(qp.get(), attributes, kInitMask), EINVAL);
  attributes.qp_state = IBV_QPS_UNKNOWN;
  EXPECT_EQ(modify(qp.get(), attributes, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(modify(qp.get(), attributes, IBV_QP_STATE | IBV_QP_QKEY), EINVAL);
}

TEST_F(QueuePair, SaysThatAlternatePathsAreNotSupported) {
  const QpPtr qp = create();
  ASSERT_EQ(connect(qp.get(), 0x11), 0);
  EXPECT_EQ(modify(qp.get(), {}, IBV_QP_ALT_PATH), EOPNOTSUPP);
}

TEST_F(QueuePair, NeedsAGrhInItsAddress) {
  const QpPtr qp = create();
  ASSERT_EQ(to_init(qp.get()), 0);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.ah_attr.port_num = 1;
  attributes.ah_attr.dlid = 3;
  EXPECT_EQ(modify(qp.get(), attributes,
                   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            EINVAL);
}

TEST_F(QueuePair, IsExtendedOnlyWhenAskedFor) {
  const QpPtr plain = create();
  EXPECT_EQ(ibv_qp_to_qp_ex(plain.get()), nullptr);
}

TEST_F(QueuePair, HasNoConnectionOptionsAndTakesNone) {
  const QpPtr qp = create();
  ibv_ece ece{.vendor_id = 1, .options = 2, .comp_mask = 3};
  EXPECT_EQ(ibv_query_ece(qp.get(), &ece), EOPNOTSUPP);
  EXPECT_EQ(ece.vendor_id, 0u);
  EXPECT_EQ(ece.options, 0u);
  EXPECT_EQ(ece.comp_mask, 0u);
  EXPECT_EQ(ibv_set_ece(qp.get(), &ece), EOPNOTSUPP);
  for (const ibv_ece& unknown : {ibv_ece{1, 0, 0}, ibv_ece{0, 1, 0}, ibv_ece{0, 0, 1}}) {
    ece = unknown;
    EXPECT_EQ(ibv_set_ece(qp.get(), &ece), EOPNOTSUPP);
  }
  EXPECT_EQ(ibv_query_ece(qp.get(), nullptr), EINVAL);
  EXPECT_EQ(ibv_set_ece(qp.get(), nullptr), EINVAL);
}

// Work that no peer answers, since there is no such queue pair, is begun and not done.
TEST_F(QueuePair, TellsWhetherItsSendQueueIsStillDraining) {
  for (const bool has_work : {false, true}) {
    const QpPtr qp = create();
    ASSERT_EQ(connect(qp.get(), 2), 0);
    if (has_work) {
      ASSERT_EQ(post_send(qp.get(), request(IBV_WR_SEND), {}), 0);
      ASSERT_TRUE(stays_empty(cq_.get()));
    }
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    attributes.qp_state = IBV_QPS_SQD;
    ASSERT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE), 0);
    ASSERT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_STATE, &init), 0);
    EXPECT_EQ(attributes.qp_state, IBV_QPS_SQD);
    EXPECT_EQ(attributes.sq_draining, has_work ? 1 : 0);
  }
}

TEST_F(QueuePair, PromisesNoOrderOfBytes) {
  const QpPtr qp = create();
  EXPECT_EQ(ibv_query_qp_data_in_order(qp.get(), IBV_WR_RDMA_WRITE, 0), 0);
}

// --- Posting ---

TEST_F(QueuePair, TakesNoSendsBeforeRtsAndNoReceivesInReset) {
  const QpPtr qp = create();
  EXPECT_EQ(post_receive(qp.get(), 1, {}), EINVAL);
  EXPECT_EQ(post_send(qp.get(), request(IBV_WR_SEND), {}), EINVAL);
  ASSERT_EQ(to_init(qp.get()), 0);
  EXPECT_EQ(post_receive(qp.get(), 1, {}), 0);
  EXPECT_EQ(post_send(qp.get(), request(IBV_WR_SEND), {}), EINVAL);
}

TEST_F(QueuePair, TakesNoMoreReceivesThanItHasRoomFor) {
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  const QpPtr qp(ibv_create_qp(pd_.get(), &attributes));
  ASSERT_EQ(to_init(qp.get()), 0);
  for (std::uint32_t i = 0; i < attributes.cap.max_recv_wr; ++i) ASSERT_EQ(post_receive(qp.get(), i, {}), 0);
  EXPECT_EQ(post_receive(qp.get(), 99, {}), ENOMEM);
}

TEST_F(QueuePair, TakesNoMoreElementsThanAskedFor) {
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  const QpPtr qp(ibv_create_qp(pd_.get(), &attributes));
  ASSERT_EQ(connect(qp.get(), 0x11), 0);
  const std::vector<ibv_sge> too_many(attributes.cap.max_send_sge + 1, ibv_sge{});
  EXPECT_EQ(post_send(qp.get(), request(IBV_WR_SEND), too_many), EINVAL);
  EXPECT_EQ(post_receive(qp.get(), 1, too_many), EINVAL);
  const std::vector<ibv_sge> absurdly_many(100, ibv_sge{});
  EXPECT_EQ(post_send(qp.get(), request(IBV_WR_SEND), absurdly_many), EINVAL);
  ibv_recv_wr negative{};
  negative.num_sge = -1;
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_recv(qp.get(), &negative, &bad), EINVAL);
}

TEST_F(QueuePair, TakesNoMoreInlineDataThanGranted) {
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  const QpPtr qp(ibv_create_qp(pd_.get(), &attributes));
  ASSERT_EQ(connect(qp.get(), 0x11), 0);
  const std::vector<std::uint8_t> data(attributes.cap.max_inline_data + 1);
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.send_flags |= IBV_SEND_INLINE;
  const ibv_sge all{.addr = reinterpret_cast<std::uintptr_t>(data.data()),
                    .length = static_cast<std::uint32_t>(data.size()),
                    .lkey = 0};
  EXPECT_EQ(post_send(qp.get(), wr, {all}), EINVAL);
}

TEST_F(QueuePair, RefusesOperationsItDoesNotHave) {
  const QpPtr qp = create();
  ASSERT_EQ(connect(qp.get(), 0x11), 0);
  EXPECT_EQ(post_send(qp.get(), request(IBV_WR_TSO), {}), EOPNOTSUPP);
  EXPECT_EQ(post_send(qp.get(), request(static_cast<ibv_wr_opcode>(99)), {}), EINVAL);
}

}  // namespace
}  // namespace urnic::test
