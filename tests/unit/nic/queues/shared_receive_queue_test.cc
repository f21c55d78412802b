// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Shared receive queues and XRC, from one device to the other.
#include "nic/queues/shared_receive_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using transport::Completion;
using transport::QpState;

void post(SharedReceiveQueue& srq, const Host& host, std::uint64_t wr_id, std::size_t offset,
          std::size_t length) {
  const std::array sges{host.sge(offset, length)};
  EXPECT_EQ(SharedReceiveQueue::Batch(srq).post({.wr_id = wr_id}, sges), PostStatus::kPosted);
}

/// Two connections from A into one queue of B.
class SharedReceiveQueueTest : public testing::Test {
 protected:
  SharedReceiveQueueTest() {
    srq_ = std::move(pair.b().device().create_srq({.pd = &pair.b().pd(), .max_wr = 8, .max_sge = 2}).value());
    QpCreateAttributes sharing = pair.b().default_attributes();
    sharing.srq = srq_.get();
    for (int i = 0; i < 2; ++i) {
      DevicePair::connect(pair.a(), pair.a().add_queue_pair(), pair.b(), pair.b().add_queue_pair(sharing));
    }
    pair.settle();
  }
  ~SharedReceiveQueueTest() override {
    for (std::size_t i : {0u, 1u}) {
      if (pair.b().queue_pairs()[i]) pair.b().destroy_queue_pair(i);
    }
    EXPECT_TRUE(pair.b().device().destroy_srq(srq_));
  }

  DevicePair pair;
  std::unique_ptr<SharedReceiveQueue> srq_;
};

TEST_F(SharedReceiveQueueTest, GivesEachMessageTheOldestReceiveWhoeverItCameFor) {
  post(*srq_, pair.b(), 1, 0, 100);
  post(*srq_, pair.b(), 2, 100, 100);
  pair.a().post_send(10, 0, 8, 1);
  pair.settle();
  pair.a().post_send(11, 0, 8, 0);
  pair.settle();
  const std::vector<Completion> completions = pair.b().poll();
  ASSERT_EQ(completions.size(), 2u);
  EXPECT_EQ(completions[0].wr_id, 1u);
  EXPECT_EQ(completions[0].qp_number, pair.b().qp(1).number());
  EXPECT_EQ(completions[1].wr_id, 2u);
  EXPECT_EQ(completions[1].qp_number, pair.b().qp(0).number());
}

TEST_F(SharedReceiveQueueTest, MakesTheSenderWaitWhileItIsEmpty) {
  pair.a().post_send(10, 0, 8);
  pair.settle();
  EXPECT_EQ(pair.a().counter("rcvd_rnr_err"), 1u);
  post(*srq_, pair.b(), 1, 0, 100);
  pair.pass(std::chrono::seconds(1));
  EXPECT_EQ(pair.a().poll_text(), "10 ok");
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
}

TEST_F(SharedReceiveQueueTest, TellsOnceThatFewerThanTheLimitAreLeft) {
  for (std::uint64_t i = 0; i < 4; ++i) post(*srq_, pair.b(), i, 0, 100);
  ASSERT_TRUE(srq_->modify({.limit = 2}));
  for (std::uint64_t i = 0; i < 2; ++i) pair.a().post_send(i, 0, 8);
  pair.settle();
  EXPECT_THAT(pair.b().events(), IsEmpty());
  EXPECT_EQ(srq_->size().limit, 2u);
  for (std::uint64_t i = 0; i < 2; ++i) pair.a().post_send(i, 0, 8);
  pair.settle();
  EXPECT_THAT(pair.b().events(), ElementsAre("srq limit"));
  EXPECT_EQ(srq_->size().limit, 0u);
}

TEST_F(SharedReceiveQueueTest, RefusesALimitItCanNeverHold) {
  EXPECT_EQ(srq_->modify({.limit = 9}).error().code, EINVAL);
}

// The old rings have been gone round, so that what waits stands across their end.
TEST_F(SharedReceiveQueueTest, KeepsWhatWaitsInItsOrderWhenItIsResized) {
  for (std::uint64_t i = 0; i < 6; ++i) {
    post(*srq_, pair.b(), 100 + i, 0, 100);
    pair.a().post_send(i, 0, 8);
    pair.settle();
  }
  pair.b().poll();
  for (std::uint64_t i = 0; i < 8; ++i) post(*srq_, pair.b(), i, 1000 * i, 8);
  ASSERT_TRUE(srq_->modify({.max_wr = 30}));
  EXPECT_EQ(srq_->size().max_wr, 32u);
  for (std::uint64_t i = 8; i < 32; ++i) post(*srq_, pair.b(), i, 1000 * i, 8);
  EXPECT_EQ(SharedReceiveQueue::Batch(*srq_).post({.wr_id = 99}, {}), PostStatus::kQueueFull);
  for (std::uint64_t i = 0; i < 32; ++i) {
    pair.a().memory()[500000] = static_cast<std::byte>(i + 1);
    pair.a().post_send(i, 500000, 8, i % 2);
    pair.settle();
    const std::vector<Completion> completions = pair.b().poll();
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].wr_id, i);
    EXPECT_EQ(pair.b().memory()[1000 * i], static_cast<std::byte>(i + 1));
  }
}

TEST_F(SharedReceiveQueueTest, ShrinksNoFurtherThanWhatWaits) {
  for (std::uint64_t i = 0; i < 5; ++i) post(*srq_, pair.b(), i, 0, 100);
  EXPECT_EQ(srq_->modify({.max_wr = 4}).error().code, EINVAL);
  EXPECT_EQ(srq_->size().max_wr, 8u);
  pair.a().post_send(1, 0, 8);
  pair.settle();
  ASSERT_TRUE(srq_->modify({.max_wr = 4}));
  EXPECT_EQ(srq_->size().max_wr, 4u);
  EXPECT_EQ(SharedReceiveQueue::Batch(*srq_).post({.wr_id = 9}, {}), PostStatus::kQueueFull);
}

TEST_F(SharedReceiveQueueTest, KeepsItsLimitWhenItIsResized) {
  for (std::uint64_t i = 0; i < 4; ++i) post(*srq_, pair.b(), i, 0, 100);
  ASSERT_TRUE(srq_->modify({.max_wr = 64, .limit = 4}));
  EXPECT_EQ(srq_->size().limit, 4u);
  EXPECT_THAT(pair.b().events(), IsEmpty());
  pair.a().post_send(1, 0, 8);
  pair.settle();
  EXPECT_THAT(pair.b().events(), ElementsAre("srq limit"));
}

TEST_F(SharedReceiveQueueTest, ChangesAllOrNothing) {
  ASSERT_TRUE(srq_->modify({.limit = 5}));
  const auto refuses = [&](SharedReceiveQueue::Changes changes) {
    const auto modified = srq_->modify(changes);
    EXPECT_EQ(modified ? 0 : modified.error().code, EINVAL);
    EXPECT_EQ(srq_->size().max_wr, 8u);
    EXPECT_EQ(srq_->size().limit, 5u);
  };
  refuses({.max_wr = 0});
  refuses({.max_wr = 0, .limit = 1});
  refuses({.max_wr = DeviceLimits::kMaxWorkRequests + 1});
  refuses({.max_wr = 0xffffffff});
  refuses({.max_wr = 4});  // less than the limit
  refuses({.max_wr = 16, .limit = 17});
  refuses({.limit = 9});
  EXPECT_TRUE(srq_->modify({.max_wr = 4, .limit = 4}));
  EXPECT_TRUE(srq_->modify({}));
}

TEST_F(SharedReceiveQueueTest, KeepsItsReceivesWhenAQueuePairFails) {
  post(*srq_, pair.b(), 1, 0, 100);
  ASSERT_TRUE(pair.b().qp(0).modify({.state = QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "");
  EXPECT_THAT(pair.b().events(), ElementsAre("last WQE"));
  pair.a().post_send(10, 0, 8, 1);
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
}

TEST_F(SharedReceiveQueueTest, IsFullWhenItHoldsWhatItWasMadeFor) {
  for (std::uint64_t i = 0; i < 8; ++i) post(*srq_, pair.b(), i, 0, 100);
  EXPECT_EQ(SharedReceiveQueue::Batch(*srq_).post({.wr_id = 9}, {}), PostStatus::kQueueFull);
}

TEST_F(SharedReceiveQueueTest, IsNotDestroyedWhileQueuePairsUseIt) {
  EXPECT_EQ(pair.b().device().destroy_srq(srq_).error().code, EBUSY);
  EXPECT_NE(srq_, nullptr);
}

TEST_F(SharedReceiveQueueTest, LeavesItsQueuePairsNoReceiveQueueOfTheirOwn) {
  EXPECT_EQ(QueuePair::ReceiveBatch(pair.b().qp(0)).post({.wr_id = 1}, {}), PostStatus::kBadRequest);
}

/// An XRC initiator of A and a target of B, with two shared receive queues in the target's domain.
class XrcTest : public testing::Test {
 protected:
  XrcTest() {
    Device& device = pair.b().device();
    domain_ = std::move(device.open_xrc_domain().value());
    for (auto& srq : srqs_) {
      srq = std::move(device
                          .create_srq({.pd = &pair.b().pd(),
                                       .max_wr = 8,
                                       .max_sge = 2,
                                       .xrc_domain = domain_.get(),
                                       .completions = &pair.b().cq()})
                          .value());
    }
    QpCreateAttributes initiator = pair.a().default_attributes();
    initiator.type = QpType::kXrcInitiator;
    initiator.receive_queue = nullptr;
    const QpCreateAttributes target{
        .type = QpType::kXrcTarget, .xrc_domain = domain_.get(), .context = &pair.b()};
    DevicePair::connect(pair.a(), pair.a().add_queue_pair(initiator), pair.b(),
                        pair.b().add_queue_pair(target));
    pair.settle();
  }
  ~XrcTest() override {
    if (pair.b().queue_pairs()[0]) pair.b().destroy_queue_pair(0);
    for (auto& srq : srqs_) EXPECT_TRUE(srq == nullptr || pair.b().device().destroy_srq(srq));
    EXPECT_TRUE(pair.b().device().close_xrc_domain(domain_));
  }

  void send_to(std::uint32_t srq_number, std::uint64_t wr_id) {
    pair.a().post({.wr_id = wr_id, .signaled = true, .xrc_srq = srq_number}, 0, 8);
    pair.settle();
  }

  DevicePair pair;
  std::unique_ptr<XrcDomain> domain_;
  std::array<std::unique_ptr<SharedReceiveQueue>, 2> srqs_;
};

TEST_F(XrcTest, ReceivesIntoTheQueueThatTheMessageNames) {
  post(*srqs_[0], pair.b(), 1, 0, 100);
  post(*srqs_[1], pair.b(), 2, 0, 100);
  send_to(srqs_[1]->number(), 10);
  EXPECT_EQ(pair.b().poll_text(), "2 ok");
  send_to(srqs_[0]->number(), 11);
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  EXPECT_EQ(pair.a().poll_text(), "10 ok, 11 ok");
}

TEST_F(XrcTest, RefusesANumberThatIsNoneOfItsDomain) {
  post(*srqs_[0], pair.b(), 1, 0, 100);
  send_to(0x7fffff, 10);
  EXPECT_EQ(pair.a().poll()[0].status, transport::CompletionStatus::kRemoteInvalidRequest);
  EXPECT_EQ(pair.b().poll_text(), "");
}

TEST_F(XrcTest, WritesMemoryOfTheSharedQueuesProtectionDomain) {
  pair.a().memory()[0] = std::byte{42};
  pair.a().post({.wr_id = 1,
                 .operation = transport::SendOperation::kWrite,
                 .signaled = true,
                 .remote_address = pair.b().region().address + 500,
                 .rkey = transport::Rkey{pair.b().region().key},
                 .xrc_srq = srqs_[0]->number()},
                0, 8);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(pair.b().memory()[500], std::byte{42});
}

/// A message of four packets goes into a queue that has a completion queue to itself. begin() lets only the
/// first packet arrive; go_on() lets A send the rest again.
class XrcInsideMessageTest : public XrcTest {
 protected:
  XrcInsideMessageTest() {
    Device& device = pair.b().device();
    cq_ = std::move(device.create_cq(8, nullptr, nullptr).value());
    doomed_ = std::move(device
                            .create_srq({.pd = &pair.b().pd(),
                                         .max_wr = 8,
                                         .max_sge = 2,
                                         .xrc_domain = domain_.get(),
                                         .completions = cq_.get()})
                            .value());
    post(*doomed_, pair.b(), 1, 0, 5000);
    post(*doomed_, pair.b(), 2, 0, 5000);
  }
  ~XrcInsideMessageTest() override {
    if (pair.b().queue_pairs()[0]) pair.b().destroy_queue_pair(0);
    if (doomed_) destroy_queues();
  }

  void begin(transport::SendOperation operation) {
    pair.wire.is_lost = [this](std::size_t from, const FakeWire::Bytes&) {
      return from == 0 && requests_++ > 0;
    };
    pair.a().memory()[3999] = std::byte{42};
    pair.a().post({.wr_id = 10,
                   .operation = operation,
                   .signaled = true,
                   .remote_address = pair.b().region().address,
                   .rkey = transport::Rkey{pair.b().region().key},
                   .xrc_srq = doomed_->number()},
                  0, 4000);
    pair.settle();
    ASSERT_EQ(requests_, 4u);
  }
  /// Also the completion queue, as a program does that has no more use for the shared queue.
  void destroy_queues() {
    EXPECT_TRUE(pair.b().device().destroy_srq(doomed_));
    EXPECT_TRUE(pair.b().device().destroy_cq(cq_));
  }
  void go_on() {
    pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return false; };
    pair.pass(std::chrono::seconds(1));
  }
  /// A is answered as it would be if the first packet of its message named a queue that does not exist.
  void expect_refused() {
    const std::vector<Completion> completions = pair.a().poll();
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].status, transport::CompletionStatus::kRemoteInvalidRequest);
    EXPECT_EQ(pair.b().qp().query().state, QpState::kError);
    EXPECT_EQ(pair.b().poll_text(), "");
  }

  std::unique_ptr<CompletionQueue> cq_;
  std::unique_ptr<SharedReceiveQueue> doomed_;
  std::size_t requests_ = 0;
};

TEST_F(XrcInsideMessageTest, RefusesTheRestOfASendWhoseQueueIsDestroyed) {
  begin(transport::SendOperation::kSend);
  destroy_queues();
  go_on();
  expect_refused();
}

TEST_F(XrcInsideMessageTest, RefusesTheRestOfAWriteWhoseQueueIsDestroyed) {
  begin(transport::SendOperation::kWriteWithImmediate);
  destroy_queues();
  go_on();
  expect_refused();
  EXPECT_EQ(pair.b().memory()[3999], std::byte{0});
}

// The receives that were posted to it go with it, also the receive of the message in progress.
TEST_F(XrcInsideMessageTest, CompletesNothingForAQueueThatIsDestroyed) {
  begin(transport::SendOperation::kSend);
  EXPECT_TRUE(pair.b().device().destroy_srq(doomed_));
  go_on();
  expect_refused();
  std::array<Completion, 4> completions;
  EXPECT_EQ(cq_->poll(completions), 0u);
  EXPECT_TRUE(pair.b().device().destroy_cq(cq_));
}

TEST_F(XrcInsideMessageTest, GoesToErrorAfterItsQueueWasDestroyed) {
  begin(transport::SendOperation::kSend);
  destroy_queues();
  ASSERT_TRUE(pair.b().qp().modify({.state = QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "");
}

TEST_F(XrcInsideMessageTest, CanBeResetAfterItsQueueWasDestroyed) {
  begin(transport::SendOperation::kSend);
  destroy_queues();
  ASSERT_TRUE(pair.b().qp().modify({.state = QpState::kReset}));
  go_on();
  EXPECT_EQ(pair.b().poll_text(), "");
}

TEST_F(XrcInsideMessageTest, CanBeDestroyedAfterItsQueue) {
  begin(transport::SendOperation::kSend);
  destroy_queues();
  pair.b().destroy_queue_pair(0);
  go_on();
  EXPECT_EQ(pair.b().poll_text(), "");
}

// A receive that waits in another queue of the domain is not taken for the rest of the message.
TEST_F(XrcInsideMessageTest, DoesNotGoOnIntoAnotherQueue) {
  begin(transport::SendOperation::kSend);
  destroy_queues();
  post(*srqs_[0], pair.b(), 3, 0, 5000);
  go_on();
  expect_refused();
}

TEST_F(XrcInsideMessageTest, GoesOnWhenAnotherQueueIsDestroyed) {
  begin(transport::SendOperation::kSend);
  EXPECT_TRUE(pair.b().device().destroy_srq(srqs_[0]));
  go_on();
  EXPECT_EQ(pair.a().poll_text(), "10 ok");
  std::array<Completion, 4> completions;
  ASSERT_EQ(cq_->poll(completions), 1u);
  EXPECT_EQ(completions[0].wr_id, 1u);
  EXPECT_EQ(completions[0].byte_length, 4000u);
}

TEST_F(XrcInsideMessageTest, ForgetsACompletionThatIsHeldWithItsQueue) {
  pair.wire.room[1] = 0;
  send_to(doomed_->number(), 10);
  destroy_queues();
  pair.wire.room[1] = 100;
  pair.pass(std::chrono::seconds(1));
  EXPECT_EQ(pair.a().poll_text(), "10 ok");
}

TEST_F(XrcTest, LetsATargetNeitherSendNorPostReceives) {
  EXPECT_EQ(QueuePair::SendBatch(pair.b().qp()).post({}, {}), PostStatus::kBadRequest);
  EXPECT_EQ(QueuePair::ReceiveBatch(pair.b().qp()).post({}, {}), PostStatus::kBadRequest);
}

TEST_F(XrcTest, KeepsADomainThatIsInUse) {
  EXPECT_EQ(pair.b().device().close_xrc_domain(domain_).error().code, EBUSY);
}

}  // namespace
}  // namespace urnic::nic
