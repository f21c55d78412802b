// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// XRC targets that are opened again by their number, from this context or another.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

/// A file names the domain, so that both contexts can open it.
class OpenQueuePair : public testing::Test {
 protected:
  OpenQueuePair() {
    ibv_qp_init_attr_ex attributes{};
    attributes.qp_type = IBV_QPT_XRC_RECV;
    attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    attributes.xrcd = domain_.get();
    target_.reset(ibv_create_qp_ex(context_.get(), &attributes));
    EXPECT_NE(target_, nullptr);
  }
  ~OpenQueuePair() override { close(file_); }

  XrcdPtr open_domain(ibv_context* context) const {
    ibv_xrcd_init_attr attributes{
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = file_, .oflags = O_CREAT};
    return XrcdPtr(ibv_open_xrcd(context, &attributes));
  }
  ibv_qp_open_attr attributes(ibv_xrcd* domain) const {
    return {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE |
                         IBV_QP_OPEN_ATTR_CONTEXT,
            .qp_num = target_ != nullptr ? target_->qp_num : 0,
            .xrcd = domain,
            .qp_context = const_cast<OpenQueuePair*>(this),
            .qp_type = IBV_QPT_XRC_RECV};
  }
  static QpPtr open(ibv_qp_open_attr attributes) {
    return QpPtr(ibv_open_qp(attributes.xrcd->context, &attributes));
  }
  int error_of(ibv_qp_open_attr attributes) const {
    errno = 0;
    return QpPtr(ibv_open_qp(context_.get(), &attributes)) != nullptr ? 0 : errno;
  }
  static ibv_qp_state state_of(ibv_qp* qp) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr created{};
    EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &created), 0);
    return attr.qp_state;
  }

  const int file_ = memfd_create("xrc", 0);
  const ContextPtr context_ = open_device();
  const ContextPtr other_ = open_device();
  const XrcdPtr domain_ = open_domain(context_.get());
  XrcdPtr other_domain_ = open_domain(other_.get());
  QpPtr target_;
};

TEST_F(OpenQueuePair, IsTheSameQueuePair) {
  const QpPtr again = open(attributes(other_domain_.get()));
  ASSERT_NE(again, nullptr);
  EXPECT_NE(again, target_);
  EXPECT_EQ(again->qp_num, target_->qp_num);
  EXPECT_EQ(again->context, other_.get());
  EXPECT_EQ(again->qp_context, this);
  EXPECT_EQ(again->qp_type, IBV_QPT_XRC_RECV);
  EXPECT_EQ(again->pd, nullptr);
  EXPECT_EQ(again->recv_cq, nullptr);
  EXPECT_EQ(to_init(again.get()), 0);
  EXPECT_EQ(state_of(target_.get()), IBV_QPS_INIT);
  EXPECT_EQ(to_ready_to_receive(target_.get(), 77), 0);
  EXPECT_EQ(state_of(again.get()), IBV_QPS_RTR);
}

TEST_F(OpenQueuePair, EndsWithItsLastHandle) {
  QpPtr again = open(attributes(other_domain_.get()));
  ibv_qp_open_attr later = attributes(other_domain_.get());
  target_.reset();
  EXPECT_EQ(to_init(again.get()), 0) << "who made it is gone";
  QpPtr third = open(later);
  ASSERT_NE(third, nullptr);
  again.reset();
  EXPECT_EQ(state_of(third.get()), IBV_QPS_INIT);
  third.reset();
  EXPECT_EQ(open(later), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(OpenQueuePair, TellsEveryHandleOfItsEvents) {
  const PdPtr pd(ibv_alloc_pd(other_.get()));
  const CqPtr cq(ibv_create_cq(other_.get(), 64, nullptr, nullptr, 0));
  const QpPtr again = open(attributes(other_domain_.get()));
  ibv_srq_init_attr_ex init_attr{};
  init_attr.attr = {.max_wr = 16, .max_sge = 1, .srq_limit = 0};
  init_attr.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  init_attr.srq_type = IBV_SRQT_XRC;
  init_attr.pd = pd.get();
  init_attr.xrcd = other_domain_.get();
  init_attr.cq = cq.get();
  const SrqPtr srq(ibv_create_srq_ex(other_.get(), &init_attr));
  ASSERT_NE(srq, nullptr);
  ibv_qp_init_attr_ex sending{};
  sending.qp_type = IBV_QPT_XRC_SEND;
  sending.send_cq = cq.get();
  sending.cap = rc_attributes(nullptr).cap;
  sending.comp_mask = IBV_QP_INIT_ATTR_PD;
  sending.pd = pd.get();
  const QpPtr initiator(ibv_create_qp_ex(other_.get(), &sending));
  ASSERT_EQ(connect(initiator.get(), again->qp_num), 0);
  ASSERT_EQ(to_init(again.get()), 0);
  ASSERT_EQ(to_ready_to_receive(target_.get(), initiator->qp_num), 0);
  // What comes in RTR establishes the communication.
  std::uint32_t number = 0;
  ASSERT_EQ(ibv_get_srq_num(srq.get(), &number), 0);
  ASSERT_EQ(post_srq_receive(srq.get(), 6, {}), 0);
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.qp_type.xrc.remote_srqn = number;
  ASSERT_EQ(post_send(initiator.get(), wr, {}), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(next_completion(cq.get()).status, IBV_WC_SUCCESS);
  for (const auto& [context, handle] :
       {std::pair(context_.get(), target_.get()), {other_.get(), again.get()}}) {
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_COMM_EST);
    EXPECT_EQ(event.element.qp, handle);
    ibv_ack_async_event(&event);
  }
}

TEST_F(OpenQueuePair, KeepsItsDomainBusy) {
  QpPtr again = open(attributes(other_domain_.get()));
  target_.reset();
  EXPECT_EQ(ibv_close_xrcd(other_domain_.get()), EBUSY);
  again.reset();
  other_domain_.reset();
}

TEST_F(OpenQueuePair, OutlivesTheContextThatMadeIt) {
  ibv_context* const maker = open_device().release();
  ibv_qp_init_attr_ex init_attr{};
  init_attr.qp_type = IBV_QPT_XRC_RECV;
  init_attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  init_attr.xrcd = open_domain(maker).release();
  ibv_qp* const made = ibv_create_qp_ex(maker, &init_attr);
  ASSERT_NE(made, nullptr);
  ibv_qp_open_attr again = attributes(domain_.get());
  again.qp_num = made->qp_num;
  const QpPtr opened = open(again);
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(ibv_close_device(maker), 0);
  EXPECT_EQ(to_init(opened.get()), 0);
  EXPECT_EQ(state_of(opened.get()), IBV_QPS_INIT);
}

TEST_F(OpenQueuePair, NeedsToBeNamedRightly) {
  const ibv_qp_open_attr right = attributes(domain_.get());
  EXPECT_EQ(error_of(right), 0);
  ibv_qp_open_attr wrong = right;
  wrong.comp_mask &= ~unsigned{IBV_QP_OPEN_ATTR_CONTEXT};
  EXPECT_EQ(error_of(wrong), 0);
  for (const unsigned missing : {IBV_QP_OPEN_ATTR_NUM, IBV_QP_OPEN_ATTR_XRCD, IBV_QP_OPEN_ATTR_TYPE}) {
    wrong = right;
    wrong.comp_mask &= ~missing;
    EXPECT_EQ(error_of(wrong), EINVAL);
  }
  wrong = right;
  wrong.comp_mask |= IBV_QP_OPEN_ATTR_RESERVED;
  EXPECT_EQ(error_of(wrong), EOPNOTSUPP);
  wrong = right;
  wrong.xrcd = nullptr;
  EXPECT_EQ(error_of(wrong), EINVAL);
  wrong.xrcd = other_domain_.get();  // a handle of another context
  EXPECT_EQ(error_of(wrong), EINVAL);
  wrong = right;
  wrong.qp_type = IBV_QPT_RC;
  EXPECT_EQ(error_of(wrong), EINVAL);
  wrong.qp_type = static_cast<ibv_qp_type>(-1);
  EXPECT_EQ(error_of(wrong), EINVAL);
  wrong = right;
  wrong.qp_num += 1;
  EXPECT_EQ(error_of(wrong), EINVAL);
  wrong.qp_num = 0xffffffff;
  EXPECT_EQ(error_of(wrong), EINVAL);
  EXPECT_EQ(ibv_open_qp(context_.get(), nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(OpenQueuePair, IsOfItsDomainOnly) {
  ibv_xrcd_init_attr nameless{
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
  const XrcdPtr stranger(ibv_open_xrcd(context_.get(), &nameless));
  EXPECT_EQ(error_of(attributes(stranger.get())), EINVAL);
}

}  // namespace
}  // namespace urnic::test
