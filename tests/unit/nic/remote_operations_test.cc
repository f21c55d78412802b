// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Atomics, memory windows, invalidation and the draining of send queues, from one device to the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using transport::Access;
using transport::CompletionStatus;
using transport::QpState;
using transport::Rkey;
using transport::SendOperation;
using transport::SendRequest;

class RemoteOperations : public testing::Test {
 protected:
  RemoteOperations() {
    pair.connect();
    pair.settle();
  }

  std::uint64_t number_at(Host& host, std::size_t offset) {
    std::uint64_t number = 0;
    std::memcpy(&number, host.memory().data() + offset, sizeof number);
    return number;
  }
  void set_number(Host& host, std::size_t offset, std::uint64_t number) {
    std::memcpy(host.memory().data() + offset, &number, sizeof number);
  }
  SendRequest request(SendOperation operation, std::size_t remote_offset) {
    return {.wr_id = 1,
            .operation = operation,
            .signaled = true,
            .remote_address = pair.b().region().address + remote_offset,
            .rkey = Rkey{pair.b().region().key}};
  }
  /// The status of the one work request.
  CompletionStatus run(const SendRequest& request, std::size_t offset, std::size_t length) {
    pair.a().post(request, offset, length);
    pair.settle();
    const auto completions = pair.a().poll();
    EXPECT_EQ(completions.size(), 1u);
    return completions.empty() ? CompletionStatus::kBadResponse : completions[0].status;
  }

  /// A window of B's region, bound by B's queue pair; its key.
  Rkey bind(std::uint32_t window, std::size_t offset, std::size_t length, Access access,
            bool is_zero_based = false) {
    const Rkey new_key{(window & ~0xffu) | ((window + 1) & 0xffu)};
    const SendRequest bind{.wr_id = 7,
                           .operation = SendOperation::kBindWindow,
                           .signaled = true,
                           .binding = {.window = Rkey{window},
                                       .new_rkey = new_key,
                                       .region = transport::Lkey{pair.b().region().key},
                                       .address = pair.b().region().address + offset,
                                       .length = length,
                                       .access = access,
                                       .is_zero_based = is_zero_based}};
    EXPECT_EQ(QueuePair::SendBatch(pair.b().qp()).post(bind, {}), PostStatus::kPosted);
    pair.settle();
    EXPECT_EQ(pair.b().poll_text(), "7 ok");
    return new_key;
  }

  DevicePair pair;
};

TEST_F(RemoteOperations, FetchAddAddsAndSaysWhatWasThere) {
  set_number(pair.b(), 64, 40);
  SendRequest add = request(SendOperation::kFetchAdd, 64);
  add.swap_or_add = 2;
  EXPECT_EQ(run(add, 0, 8), CompletionStatus::kSuccess);
  EXPECT_EQ(number_at(pair.b(), 64), 42u);
  EXPECT_EQ(number_at(pair.a(), 0), 40u);
}

TEST_F(RemoteOperations, CompareSwapSwapsOnlyWhatIsEqual) {
  set_number(pair.b(), 64, 40);
  SendRequest swap = request(SendOperation::kCompareSwap, 64);
  swap.compare = 41;
  swap.swap_or_add = 1000;
  EXPECT_EQ(run(swap, 0, 8), CompletionStatus::kSuccess);
  EXPECT_EQ(number_at(pair.b(), 64), 40u);
  swap.compare = 40;
  EXPECT_EQ(run(swap, 0, 8), CompletionStatus::kSuccess);
  EXPECT_EQ(number_at(pair.b(), 64), 1000u);
  EXPECT_EQ(number_at(pair.a(), 0), 40u);
}

TEST_F(RemoteOperations, AtomicsNeedAnAlignedAddress) {
  EXPECT_EQ(run(request(SendOperation::kFetchAdd, 65), 0, 8), CompletionStatus::kRemoteInvalidRequest);
}

TEST_F(RemoteOperations, AtomicWriteWritesEightBytes) {
  set_number(pair.a(), 0, 0x0123456789abcdef);
  EXPECT_EQ(run(request(SendOperation::kAtomicWrite, 128), 0, 8), CompletionStatus::kSuccess);
  EXPECT_EQ(number_at(pair.b(), 128), 0x0123456789abcdefu);
}

TEST_F(RemoteOperations, FlushNeedsARightThatNoRegionGives) {
  SendRequest flush = request(SendOperation::kFlush, 0);
  flush.flush = {.length = 8};
  EXPECT_EQ(QueuePair::SendBatch(pair.a().qp()).post(flush, {}), PostStatus::kPosted);
  pair.settle();
  EXPECT_EQ(pair.a().poll()[0].status, CompletionStatus::kRemoteInvalidRequest);
}

TEST_F(RemoteOperations, AType2WindowIsForTheQueuePairThatBoundIt) {
  const std::uint32_t window = pair.b().device().allocate_window(pair.b().pd(), WindowType::kType2).value();
  const Rkey key = bind(window, 256, 64, Access::kRemoteWrite);
  const std::size_t other = pair.connect();
  SendRequest write = request(SendOperation::kWrite, 256);
  write.rkey = key;
  EXPECT_EQ(run(write, 0, 64), CompletionStatus::kSuccess);
  pair.a().post(write, 0, 64, other);
  pair.settle();
  EXPECT_EQ(pair.a().poll()[0].status, CompletionStatus::kRemoteAccessError);
  EXPECT_TRUE(pair.b().device().deallocate_window(pair.b().pd(), window));
}

TEST_F(RemoteOperations, AWindowGivesNoMoreThanItsBoundsAndRights) {
  const std::uint32_t window = pair.b().device().allocate_window(pair.b().pd(), WindowType::kType1).value();
  SendRequest write = request(SendOperation::kWrite, 0);
  write.rkey = bind(window, 256, 64, Access::kRemoteRead | Access::kRemoteWrite, true);
  write.remote_address = 0;
  EXPECT_EQ(run(write, 0, 64), CompletionStatus::kSuccess);
  EXPECT_EQ(run(write, 0, 65), CompletionStatus::kRemoteAccessError);
  EXPECT_TRUE(pair.b().device().deallocate_window(pair.b().pd(), window));
}

TEST_F(RemoteOperations, ARegionWithWindowsIsNotDeregistered) {
  const std::uint32_t window = pair.b().device().allocate_window(pair.b().pd(), WindowType::kType2).value();
  bind(window, 0, 64, Access::kRemoteWrite);
  EXPECT_EQ(pair.b().device().deregister_memory(pair.b().pd(), pair.b().region().key).error().code, EBUSY);
  EXPECT_TRUE(pair.b().device().deallocate_window(pair.b().pd(), window));
  EXPECT_TRUE(pair.b().device().deregister_memory(pair.b().pd(), pair.b().region().key));
}

TEST_F(RemoteOperations, ASendWithInvalidateTakesTheWindowBack) {
  const std::uint32_t window = pair.b().device().allocate_window(pair.b().pd(), WindowType::kType2).value();
  const Rkey key = bind(window, 256, 64, Access::kRemoteWrite);
  pair.b().post_receive(3, 0, 100);
  SendRequest send = request(SendOperation::kSendWithInvalidate, 0);
  send.invalidate_rkey = key;
  EXPECT_EQ(run(send, 0, 8), CompletionStatus::kSuccess);
  const auto received = pair.b().poll();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(received[0].has_invalidate);
  EXPECT_EQ(received[0].invalidated_rkey, key);
  SendRequest write = request(SendOperation::kWrite, 256);
  write.rkey = key;
  EXPECT_EQ(run(write, 0, 64), CompletionStatus::kRemoteAccessError);
  EXPECT_TRUE(pair.b().device().deallocate_window(pair.b().pd(), to_integer(key)));
}

TEST_F(RemoteOperations, SqdFinishesWhatWasBegunAndBeginsNothing) {
  pair.b().post_receive(1, 0, 100);
  pair.b().post_receive(2, 0, 100);
  pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return true; };
  pair.a().post_send(1, 0, 8);
  pair.settle();
  EXPECT_FALSE(pair.a().qp().query().is_draining) << "it works";
  ASSERT_TRUE(pair.a().qp().modify({.state = QpState::kSqDrained, .notify_when_drained = true}));
  pair.a().post_send(2, 0, 8);
  pair.settle();
  EXPECT_THAT(pair.a().events(), IsEmpty());
  EXPECT_TRUE(pair.a().qp().query().is_draining);
  pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return false; };
  pair.pass(std::chrono::seconds(1));
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_THAT(pair.a().events(), ElementsAre("drained"));
  EXPECT_FALSE(pair.a().qp().query().is_draining) << "the other one was not begun";
  ASSERT_TRUE(pair.a().qp().modify({.state = QpState::kReadyToSend}));
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "2 ok");
}

TEST_F(RemoteOperations, ACompletionQueueThatOverflowsFailsItsQueuePairs) {
  auto cq = std::move(pair.a().device().create_cq(2, nullptr, &pair).value());
  QpCreateAttributes attributes = pair.a().default_attributes();
  attributes.send_queue = cq.get();
  QueuePair& qp = pair.a().add_queue_pair(attributes);
  DevicePair::connect(pair.a(), qp, pair.b(), pair.b().add_queue_pair());
  for (std::uint64_t i = 0; i < 3; ++i) pair.a().post(request(SendOperation::kWrite, 0), 0, 8, 1);
  pair.settle();
  EXPECT_TRUE(cq->has_overrun());
  EXPECT_EQ(qp.query().state, QpState::kError);
  EXPECT_THAT(pair.a().events(), ElementsAre("cq overrun", "fatal"));
  // The other queue pair, with its own queue, goes on.
  EXPECT_EQ(run(request(SendOperation::kWrite, 0), 0, 8), CompletionStatus::kSuccess);
  pair.a().destroy_queue_pair(1);
  EXPECT_TRUE(pair.a().device().destroy_cq(cq));
}

}  // namespace
}  // namespace urnic::nic
