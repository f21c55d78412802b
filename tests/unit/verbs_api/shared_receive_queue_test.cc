// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Shared receive queues.
#include <atomic>
#include <thread>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

class SharedReceiveQueue : public testing::Test {
 protected:
  SharedReceiveQueue() {
    srq_ = create();
    ibv_qp_init_attr attributes = rc_attributes(cq_.get());
    sender_.reset(ibv_create_qp(pd_.get(), &attributes));
    attributes.srq = srq_.get();
    receiver_.reset(ibv_create_qp(pd_.get(), &attributes));
    EXPECT_EQ(connect(sender_.get(), receiver_->qp_num), 0);
    EXPECT_EQ(connect(receiver_.get(), sender_->qp_num), 0);
  }

  SrqPtr create(std::uint32_t max_wr = 16) {
    ibv_srq_init_attr attributes{};
    attributes.attr = {.max_wr = max_wr, .max_sge = 2, .srq_limit = 0};
    SrqPtr srq(ibv_create_srq(pd_.get(), &attributes));
    EXPECT_NE(srq, nullptr);
    EXPECT_GE(attributes.attr.max_wr, max_wr);
    EXPECT_GE(attributes.attr.max_sge, 2u);
    return srq;
  }

  int modify(ibv_srq_attr attributes, int mask) { return ibv_modify_srq(srq_.get(), &attributes, mask); }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const CqPtr cq_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  SrqPtr srq_;
  QpPtr sender_;
  QpPtr receiver_;
};

TEST_F(SharedReceiveQueue, GivesReceivesToItsQueuePairs) {
  Buffer from(pd_.get(), 50);
  Buffer to(pd_.get(), 50);
  from.fill(1);
  ASSERT_EQ(post_srq_receive(srq_.get(), 5, {to.sge()}), 0);
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.send_flags = 0;
  ASSERT_EQ(post_send(sender_.get(), wr, {from.sge()}), 0);
  const ibv_wc received = next_completion(cq_.get());
  EXPECT_EQ(received.wr_id, 5u);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.qp_num, receiver_->qp_num);
  EXPECT_EQ(to.bytes(), from.bytes());
}

// As on cards: the receive is used up, and its completion goes with the queue pair.
TEST_F(SharedReceiveQueue, KeepsWhatADestroyedQueuePairDidNotTake) {
  const CqPtr cq(ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  const auto send = [&](ibv_qp* sender) {
    ASSERT_EQ(post_send(sender, request(IBV_WR_SEND), {}), 0);
    ASSERT_EQ(next_completion(cq.get()).status, IBV_WC_SUCCESS);
  };
  const auto connected_sender = [&](ibv_qp* receiver) {
    QpPtr sender(ibv_create_qp(pd_.get(), &attributes));
    EXPECT_EQ(connect(sender.get(), receiver->qp_num), 0);
    EXPECT_EQ(connect(receiver, sender->qp_num), 0);
    return sender;
  };
  const auto create_receiver = [&] {
    ibv_qp_init_attr of_receiver = rc_attributes(cq_.get());
    of_receiver.srq = srq_.get();
    return QpPtr(ibv_create_qp(pd_.get(), &of_receiver));
  };
  ASSERT_EQ(post_srq_receive(srq_.get(), 5, {}), 0);
  ASSERT_EQ(post_srq_receive(srq_.get(), 6, {}), 0);
  QpPtr receiver = create_receiver();
  send(connected_sender(receiver.get()).get());
  receiver = create_receiver();
  send(connected_sender(receiver.get()).get());
  EXPECT_EQ(next_completion(cq_.get()).wr_id, 6u);
}

TEST_F(SharedReceiveQueue, TakesThePlaceOfAQueueOfTheirOwn) {
  EXPECT_EQ(post_receive(receiver_.get(), 1, {}), EINVAL);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr created{};
  ASSERT_EQ(ibv_query_qp(receiver_.get(), &attributes, IBV_QP_STATE, &created), 0);
  EXPECT_EQ(created.srq, srq_.get());
}

TEST_F(SharedReceiveQueue, TakesNoMoreThanItHasRoomFor) {
  ibv_srq_attr limits{};
  ASSERT_EQ(ibv_query_srq(srq_.get(), &limits), 0);
  for (std::uint32_t i = 0; i < limits.max_wr; ++i) ASSERT_EQ(post_srq_receive(srq_.get(), i, {}), 0);
  EXPECT_EQ(post_srq_receive(srq_.get(), 99, {}), ENOMEM);
  const SrqPtr other = create();
  EXPECT_EQ(post_srq_receive(other.get(), 1, std::vector<ibv_sge>(limits.max_sge + 1)), EINVAL);
  EXPECT_EQ(post_srq_receive(other.get(), 1, std::vector<ibv_sge>(1000)), EINVAL);
}

TEST_F(SharedReceiveQueue, TellsOnceThatFewReceivesAreLeft) {
  ASSERT_EQ(modify({.max_wr = 0, .max_sge = 0, .srq_limit = 2}, IBV_SRQ_LIMIT), 0);
  ibv_srq_attr limits{};
  ASSERT_EQ(ibv_query_srq(srq_.get(), &limits), 0);
  EXPECT_EQ(limits.srq_limit, 2u);
  ASSERT_EQ(post_srq_receive(srq_.get(), 1, {}), 0);
  ASSERT_EQ(post_srq_receive(srq_.get(), 2, {}), 0);
  ASSERT_EQ(post_send(sender_.get(), request(IBV_WR_SEND), {}), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context_.get(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, srq_.get());
  ibv_ack_async_event(&event);
  ASSERT_EQ(ibv_query_srq(srq_.get(), &limits), 0);
  EXPECT_EQ(limits.srq_limit, 0u);
}

TEST_F(SharedReceiveQueue, CanBeResizedWhileReceivesWait) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context_.get(), &device), 0);
  EXPECT_NE(device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE, 0u);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(post_srq_receive(srq_.get(), i, {}), 0);
  ASSERT_EQ(modify({.max_wr = 100, .max_sge = 0, .srq_limit = 0}, IBV_SRQ_MAX_WR), 0);
  ibv_srq_attr limits{};
  ASSERT_EQ(ibv_query_srq(srq_.get(), &limits), 0);
  EXPECT_GE(limits.max_wr, 100u);
  EXPECT_GE(limits.max_sge, 2u);
  for (std::uint64_t i = 3; i < 100; ++i) ASSERT_EQ(post_srq_receive(srq_.get(), i, {}), 0);
  EXPECT_EQ(modify({.max_wr = 99, .max_sge = 0, .srq_limit = 0}, IBV_SRQ_MAX_WR), EINVAL);
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(post_send(sender_.get(), request(IBV_WR_SEND, 1000), {}), 0);
    for (int k = 0; k < 2; ++k) {
      const ibv_wc wc = next_completion(cq_.get());
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      EXPECT_TRUE(wc.wr_id == i || wc.wr_id == 1000) << wc.wr_id;
    }
  }
  EXPECT_EQ(modify({.max_wr = 1, .max_sge = 0, .srq_limit = 1}, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
  ASSERT_EQ(ibv_query_srq(srq_.get(), &limits), 0);
  EXPECT_EQ(limits.max_wr, 1u);
  EXPECT_EQ(limits.srq_limit, 1u);
}

TEST_F(SharedReceiveQueue, CannotBeResizedToAnything) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context_.get(), &device), 0);
  const auto most = static_cast<std::uint32_t>(device.max_srq_wr);
  EXPECT_EQ(modify({.max_wr = most, .max_sge = 0, .srq_limit = 0}, IBV_SRQ_MAX_WR), 0);
  for (const std::uint32_t size : {0u, most + 1, 0xffffffffu}) {
    EXPECT_EQ(modify({.max_wr = size, .max_sge = 0, .srq_limit = 0}, IBV_SRQ_MAX_WR), EINVAL) << size;
  }
  EXPECT_EQ(modify({.max_wr = 0, .max_sge = 0, .srq_limit = 1u << 30}, IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(modify({}, 1 << 5), EINVAL);
  EXPECT_EQ(modify({}, 0), 0);
}

// Posting and receiving go on while another thread resizes: every message finds the receive that was posted
// for it.
TEST_F(SharedReceiveQueue, CanBeResizedWhileItIsUsed) {
  constexpr std::uint64_t kMessages = 2000;
  std::atomic<bool> is_done{false};
  std::thread resizing([&] {
    for (std::uint32_t size = 16; !is_done.load(); size = size == 16 ? 300 : 16) {
      EXPECT_EQ(modify({.max_wr = size, .max_sge = 0, .srq_limit = 0}, IBV_SRQ_MAX_WR), 0);
    }
  });
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(post_srq_receive(srq_.get(), i, {}), 0);
    EXPECT_EQ(post_send(sender_.get(), request(IBV_WR_SEND, kMessages), {}), 0);
    for (int k = 0; k < 2; ++k) {
      const ibv_wc wc = next_completion(cq_.get());
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      EXPECT_TRUE(wc.wr_id == i || wc.wr_id == kMessages) << wc.wr_id;
    }
    if (HasFailure()) break;
  }
  is_done = true;
  resizing.join();
}

TEST_F(SharedReceiveQueue, IsBusyWhileAQueuePairUsesIt) {
  EXPECT_EQ(ibv_destroy_srq(srq_.get()), EBUSY);
  EXPECT_EQ(post_srq_receive(srq_.get(), 1, {}), 0);
}

TEST_F(SharedReceiveQueue, KeepsItsDomainBusy) {
  const PdPtr pd(ibv_alloc_pd(context_.get()));
  ibv_srq_init_attr attributes{};
  attributes.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  const SrqPtr srq(ibv_create_srq(pd.get(), &attributes));
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

TEST_F(SharedReceiveQueue, CannotBeLargerThanTheDeviceAllows) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context_.get(), &device), 0);
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = static_cast<std::uint32_t>(device.max_srq_wr) + 1;
  EXPECT_EQ(ibv_create_srq(pd_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attributes.attr = {
      .max_wr = 1, .max_sge = static_cast<std::uint32_t>(device.max_srq_sge) + 1, .srq_limit = 0};
  EXPECT_EQ(ibv_create_srq(pd_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// After this event, programs free what they posted there.
TEST_F(SharedReceiveQueue, TellsWhenAFailedQueuePairTakesNoMoreFromIt) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(receiver_.get(), &attributes, IBV_QP_STATE), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context_.get(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(event.element.qp, receiver_.get());
  ibv_ack_async_event(&event);
}

TEST_F(SharedReceiveQueue, HasANumberOfItsOwn) {
  ibv_srq_init_attr attributes{};
  attributes.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  const SrqPtr other(ibv_create_srq(pd_.get(), &attributes));
  ASSERT_NE(other, nullptr);
  std::uint32_t number = 0;
  std::uint32_t other_number = 0;
  EXPECT_EQ(ibv_get_srq_num(srq_.get(), &number), 0);
  EXPECT_EQ(ibv_get_srq_num(other.get(), &other_number), 0);
  EXPECT_NE(number, 0u);
  EXPECT_NE(number, other_number);
  EXPECT_EQ(srq_->handle, number);
}

TEST_F(SharedReceiveQueue, MayBeMadeTheExtendedWay) {
  ibv_srq_init_attr_ex attributes{};
  attributes.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  attributes.pd = pd_.get();
  attributes.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
  attributes.srq_type = IBV_SRQT_BASIC;
  EXPECT_NE(SrqPtr(ibv_create_srq_ex(context_.get(), &attributes)), nullptr);
  attributes.srq_type = IBV_SRQT_TM;
  EXPECT_EQ(ibv_create_srq_ex(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attributes.srq_type = IBV_SRQT_XRC;
  EXPECT_EQ(ibv_create_srq_ex(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace urnic::test
