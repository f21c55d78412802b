// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Extended reliable connections: an initiator sends into the shared receive queues of the target's domain.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

XrcdPtr open_domain(ibv_context* context, int file = -1) {
  ibv_xrcd_init_attr attributes{
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = file, .oflags = O_CREAT};
  return XrcdPtr(ibv_open_xrcd(context, &attributes));
}

class Xrc : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(domain_, nullptr);
    srq_ = create_srq();
    ibv_qp_init_attr_ex attributes = initiator_attributes();
    initiator_.reset(ibv_create_qp_ex(context_.get(), &attributes));
    ASSERT_NE(initiator_, nullptr);
    attributes = target_attributes();
    target_.reset(ibv_create_qp_ex(context_.get(), &attributes));
    ASSERT_NE(target_, nullptr);
    EXPECT_EQ(connect(initiator_.get(), target_->qp_num), 0);
    EXPECT_EQ(connect(target_.get(), initiator_->qp_num), 0);
  }

  SrqPtr create_srq() { return create_srq(pd_.get(), cq_received_.get(), domain_.get()); }

  static SrqPtr create_srq(ibv_pd* pd, ibv_cq* cq, ibv_xrcd* domain) {
    ibv_srq_init_attr_ex attributes{};
    attributes.attr = {.max_wr = 16, .max_sge = 2, .srq_limit = 0};
    attributes.comp_mask =
        IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    attributes.srq_type = IBV_SRQT_XRC;
    attributes.pd = pd;
    attributes.xrcd = domain;
    attributes.cq = cq;
    SrqPtr srq(ibv_create_srq_ex(pd->context, &attributes));
    EXPECT_NE(srq, nullptr);
    return srq;
  }

  ibv_qp_init_attr_ex initiator_attributes() {
    ibv_qp_init_attr_ex attributes{};
    attributes.qp_type = IBV_QPT_XRC_SEND;
    attributes.send_cq = cq_.get();
    attributes.cap = rc_attributes(nullptr).cap;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
    attributes.pd = pd_.get();
    return attributes;
  }

  ibv_qp_init_attr_ex target_attributes() {
    ibv_qp_init_attr_ex attributes{};
    attributes.qp_type = IBV_QPT_XRC_RECV;
    attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    attributes.xrcd = domain_.get();
    return attributes;
  }

  int error_of_open(int file, int flags) {
    ibv_xrcd_init_attr attributes{
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = file, .oflags = flags};
    errno = 0;
    EXPECT_EQ(ibv_open_xrcd(context_.get(), &attributes), nullptr);
    return errno;
  }

  static std::uint32_t number_of(const SrqPtr& srq) {
    std::uint32_t number = 0;
    EXPECT_EQ(ibv_get_srq_num(srq.get(), &number), 0);
    return number;
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const CqPtr cq_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  const CqPtr cq_received_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  const XrcdPtr domain_ = open_domain(context_.get());
  SrqPtr srq_;
  QpPtr initiator_;
  QpPtr target_;
};

TEST_F(Xrc, DeliversToTheSharedReceiveQueueThatIsNamed) {
  const SrqPtr other = create_srq();
  EXPECT_NE(number_of(other), number_of(srq_));
  Buffer from(pd_.get(), 3000);
  Buffer to(pd_.get(), 3000);
  from.fill(1);
  ASSERT_EQ(post_srq_receive(srq_.get(), 1, {}), 0);
  ASSERT_EQ(post_srq_receive(other.get(), 2, {to.sge()}), 0);
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.qp_type.xrc.remote_srqn = number_of(other);
  ASSERT_EQ(post_send(initiator_.get(), wr, {from.sge()}), 0);
  const ibv_wc received = next_completion(cq_received_.get());
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.wr_id, 2u);
  EXPECT_EQ(received.byte_len, 3000u);
  EXPECT_EQ(to.bytes(), from.bytes());
  EXPECT_EQ(next_completion(cq_.get()).status, IBV_WC_SUCCESS);
}

TEST_F(Xrc, CompletionsOfTheSharedReceiveQueueOutliveTheTarget) {
  ASSERT_EQ(post_srq_receive(srq_.get(), 1, {}), 0);
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.qp_type.xrc.remote_srqn = number_of(srq_);
  ASSERT_EQ(post_send(initiator_.get(), wr, {}), 0);
  ASSERT_EQ(next_completion(cq_.get()).status, IBV_WC_SUCCESS);
  target_.reset();
  EXPECT_EQ(next_completion(cq_received_.get()).wr_id, 1u);
}

TEST_F(Xrc, WritesAndReadsMemoryOfTheQueuesDomain) {
  Buffer local(pd_.get(), 100);
  Buffer remote(pd_.get(), 100);
  local.fill(2);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, remote);
  wr.qp_type.xrc.remote_srqn = number_of(srq_);
  ASSERT_EQ(post_send(initiator_.get(), wr, {local.sge()}), 0);
  EXPECT_EQ(next_completion(cq_.get()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(remote.bytes(), local.bytes());
}

TEST_F(Xrc, TargetsPostNothing) {
  EXPECT_EQ(post_send(target_.get(), request(IBV_WR_SEND), {}), EINVAL);
  EXPECT_EQ(post_receive(target_.get(), 1, {}), EINVAL);
  EXPECT_EQ(post_receive(initiator_.get(), 1, {}), EINVAL);
}

// As perftest does.
TEST_F(Xrc, QueuePairsTakeWhatAReliableConnectionNeeds) {
  ibv_qp_init_attr_ex attributes = initiator_attributes();
  const QpPtr qp(ibv_create_qp_ex(context_.get(), &attributes));
  ASSERT_EQ(to_init(qp.get()), 0);
  ibv_qp_attr changes{};
  changes.qp_state = IBV_QPS_RTR;
  changes.path_mtu = IBV_MTU_1024;
  changes.dest_qp_num = target_->qp_num;
  changes.ah_attr = own_address(context_.get());
  EXPECT_EQ(ibv_modify_qp(qp.get(), &changes,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            0);
}

TEST_F(Xrc, DomainIsBusyWhileAnythingIsInIt) {
  EXPECT_EQ(ibv_close_xrcd(domain_.get()), EBUSY);
}

TEST_F(Xrc, TargetNeedsADomainAndAnInitiatorAProtectionDomain) {
  ibv_qp_init_attr_ex attributes = target_attributes();
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  attributes.pd = pd_.get();
  EXPECT_EQ(ibv_create_qp_ex(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attributes = initiator_attributes();
  attributes.comp_mask = 0;
  EXPECT_EQ(ibv_create_qp_ex(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Xrc, DomainNeedsAFileOrNone) {
  EXPECT_EQ(error_of_open(12345, O_CREAT), EBADF);
  ibv_xrcd_init_attr attributes{.comp_mask = 0, .fd = -1, .oflags = O_CREAT};
  EXPECT_EQ(ibv_open_xrcd(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Xrc, DomainOfAFileIsTheSameForEveryContext) {
  const int file = memfd_create("domain", MFD_CLOEXEC);
  EXPECT_EQ(error_of_open(file, 0), EAGAIN);
  const XrcdPtr first = open_domain(context_.get(), file);
  EXPECT_EQ(error_of_open(file, O_CREAT | O_EXCL), EINVAL);
  const ContextPtr other = open_device();
  const PdPtr pd(ibv_alloc_pd(other.get()));
  const CqPtr cq(ibv_create_cq(other.get(), 8, nullptr, nullptr, 0));
  const XrcdPtr second = open_domain(other.get(), file);
  const SrqPtr srq = create_srq(pd.get(), cq.get(), second.get());
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(ibv_close_xrcd(second.get()), EBUSY);

  ibv_qp_init_attr_ex attributes = target_attributes();
  attributes.xrcd = first.get();
  const QpPtr target(ibv_create_qp_ex(context_.get(), &attributes));
  attributes = initiator_attributes();
  const QpPtr initiator(ibv_create_qp_ex(context_.get(), &attributes));
  ASSERT_EQ(connect(initiator.get(), target->qp_num), 0);
  ASSERT_EQ(connect(target.get(), initiator->qp_num), 0);
  ASSERT_EQ(post_srq_receive(srq.get(), 6, {}), 0);
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.qp_type.xrc.remote_srqn = number_of(srq);
  ASSERT_EQ(post_send(initiator.get(), wr, {}), 0);
  EXPECT_EQ(next_completion(cq.get()).wr_id, 6u);
  close(file);
}

TEST_F(Xrc, SharedReceiveQueuesServeNoOtherQueuePairs) {
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  attributes.srq = srq_.get();
  EXPECT_EQ(ibv_create_qp(pd_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(XrcContext, EndsWhatTheProgramForgot) {
  ibv_context* const context = open_device().release();
  ASSERT_NE(open_domain(context).release(), nullptr);
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_srq_init_attr attributes{};
  attributes.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  ibv_srq* const srq = ibv_create_srq(pd, &attributes);
  ibv_mw* const mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  ibv_ah_attr address = own_address(context);
  ibv_ah* const ah = ibv_create_ah(pd, &address);
  EXPECT_EQ(ibv_close_device(context), 0);
  EXPECT_EQ(post_srq_receive(srq, 1, {}), EIO);
  EXPECT_EQ(ibv_destroy_srq(srq), EIO);
  EXPECT_EQ(ibv_dealloc_mw(mw), EIO);
  EXPECT_EQ(ibv_destroy_ah(ah), EIO);
}

}  // namespace
}  // namespace urnic::test
