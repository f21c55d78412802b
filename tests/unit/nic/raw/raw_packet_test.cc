// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Queue pairs of raw packets: frames from one device to the other.
#include <gmock/gmock.h>

#include <array>
#include <chrono>

#include "nic/queues/shared_receive_queue.h"
#include "tests/unit/nic/raw/raw_packet_pair.h"
#include "transport/wire/frame.h"

namespace urnic::nic {
namespace {

using testing::IsEmpty;
using transport::SendOperation;

TEST_F(RawPacketTest, LeavesAsItIsAndArrivesWhole) {
  add_flow(pair.b(), rule_for_experiments());
  for (const std::size_t length : {kShortest, kShortest + 1, std::size_t{1000}, kLongest}) {
    const Bytes frame = write_frame(length);
    pair.b().post_receive(7, kTo, kLongest);
    pair.a().post_send(1, 0, length);
    pair.settle();
    EXPECT_EQ(pair.wire.sent_by(0).back(), frame);
    const std::vector<Completion> sent = pair.a().poll();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].opcode, transport::CompletionOpcode::kSend);
    const std::vector<Completion> completions = pair.b().poll();
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].status, CompletionStatus::kSuccess);
    EXPECT_EQ(completions[0].opcode, transport::CompletionOpcode::kReceive);
    EXPECT_EQ(completions[0].wr_id, 7u);
    EXPECT_EQ(completions[0].byte_length, length);
    EXPECT_FALSE(completions[0].has_grh);
    EXPECT_EQ(received(length), frame);
  }
  EXPECT_EQ(pair.b().counter("rx_steered_frames"), 4u);
}

TEST_F(RawPacketTest, IsGatheredAndScattered) {
  add_flow(pair.b(), rule_for_experiments());
  const Bytes frame = write_frame(100);
  const std::array to{pair.b().sge(kTo, 10), pair.b().sge(kTo + 1000, 5), pair.b().sge(kTo + 2000, 200)};
  ASSERT_EQ(QueuePair::ReceiveBatch(pair.b().qp()).post({.wr_id = 1}, to), PostStatus::kPosted);
  const std::array from{pair.a().sge(0, 14), pair.a().sge(14, 0), pair.a().sge(14, 86)};
  ASSERT_EQ(QueuePair::SendBatch(pair.a().qp()).post({.wr_id = 2, .signaled = true}, from),
            PostStatus::kPosted);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "2 ok");
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  Bytes together = received(10);
  for (const auto& [at, length] : {std::pair<std::size_t, std::size_t>{kTo + 1000, 5}, {kTo + 2000, 85}}) {
    const Bytes part = received(length, at);
    together.insert(together.end(), part.begin(), part.end());
  }
  EXPECT_EQ(together, frame);
}

TEST_F(RawPacketTest, MayBeInline) {
  const Bytes frame = write_frame(64);
  const transport::Sge memory{.address = reinterpret_cast<std::uintptr_t>(frame.data()), .length = 64};
  ASSERT_EQ(QueuePair::SendBatch(pair.a().qp()).post_inline({.wr_id = 1, .signaled = true}, {&memory, 1}),
            PostStatus::kPosted);
  pair.settle();
  EXPECT_EQ(pair.wire.sent_by(0).back(), frame);
}

TEST_F(RawPacketTest, IsPaddedWithZerosToWhatEthernetAllows) {
  for (const std::size_t length : {std::size_t{14}, kShortest - 1}) {
    Bytes frame = write_frame(length);
    EXPECT_EQ(status_of_sending(length), CompletionStatus::kSuccess);
    frame.resize(kShortest);
    EXPECT_EQ(pair.wire.sent_by(0).back(), frame);
  }
}

TEST_F(RawPacketTest, IsRefusedWhenItIsNoFrame) {
  for (const std::size_t length : {kLongest + 1, std::size_t{13}, std::size_t{0}}) {
    EXPECT_EQ(status_of_sending(length), CompletionStatus::kLocalLengthError) << length;
    EXPECT_EQ(*pair.a().qp().query().state, QpState::kSqError);
    EXPECT_TRUE(pair.a().qp().modify({.state = QpState::kReadyToSend}));
  }
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(status_of_sending(kShortest), CompletionStatus::kSuccess) << "the send queue goes on";
}

TEST_F(RawPacketTest, FlushesWhatIsPostedBehindARefusedOne) {
  write_frame(kShortest);
  pair.a().post_send(1, 0, kLongest + 1);
  pair.a().post_send(2, 0, kShortest);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 failed, 2 flushed");
}

TEST_F(RawPacketTest, FailsWhenItsMemoryIsNotOurs) {
  transport::Sge sge = pair.a().sge(0, 100);
  sge.lkey = transport::Lkey{to_integer(sge.lkey) + 1};
  ASSERT_EQ(QueuePair::SendBatch(pair.a().qp()).post({.wr_id = 1}, {&sge, 1}), PostStatus::kPosted);
  pair.settle();
  const std::vector<Completion> completions = pair.a().poll();
  ASSERT_EQ(completions.size(), 1u) << "failures are told unasked";
  EXPECT_EQ(completions[0].status, CompletionStatus::kLocalProtectionError);
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(RawPacketTest, IsTheOnlyThingThatItsQueuePairSends) {
  const std::array sges{pair.a().sge(0, 64)};
  for (const SendOperation operation :
       {SendOperation::kSendWithImmediate, SendOperation::kWrite, SendOperation::kRead,
        SendOperation::kLocalInvalidate, SendOperation::kBindWindow}) {
    EXPECT_EQ(QueuePair::SendBatch(pair.a().qp()).post({.operation = operation}, sges),
              PostStatus::kBadRequest);
  }
}

TEST_F(RawPacketTest, MayBeUnsignaled) {
  write_frame(64);
  pair.a().post({.wr_id = 1, .signaled = false}, 0, 64);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "");
  EXPECT_EQ(sent().size(), 1u);
}

TEST_F(RawPacketTest, WaitsForAFullPortAndLeavesInOrder) {
  add_flow(pair.b(), rule_for_experiments());
  for (std::uint64_t i = 0; i < 40; ++i) {
    write_frame(64 + i, i * 128);
    pair.a().post_send(i, i * 128, 64 + i);
  }
  pair.wire.room[0] = 10;
  pair.settle();
  ASSERT_EQ(sent().size(), 10u);
  pair.wire.room[0] = 1000;
  pair.pass(std::chrono::milliseconds(1));
  ASSERT_EQ(sent().size(), 40u);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(sent()[i].size(), 64 + i);
}

// No queue pair's turn is longer than another's.
TEST_F(RawPacketTest, TakesTurnsWithOtherQueuePairs) {
  const std::size_t connected = pair.connect();
  pair.settle();
  write_frame(64);
  for (std::uint64_t i = 0; i < 60; ++i) pair.a().post_send(i, 0, 64);
  pair.b().post_receive(1, 0, 100, connected);
  const std::size_t before = pair.wire.sent_by(0).size();
  pair.a().post_send(99, 0, 8, connected);
  pair.settle();
  std::size_t place = before;
  while (!transport::wire::parse_frame(pair.wire.sent_by(0).at(place))) ++place;
  EXPECT_LE(place - before, 32u);
}

TEST_F(RawPacketTest, IsDroppedAndCountedWhenNoReceiveIsPosted) {
  add_flow(pair.b(), rule_for_experiments());
  EXPECT_EQ(status_of_sending(64), CompletionStatus::kSuccess);
  EXPECT_EQ(pair.b().counter("out_of_buffer"), 1u);
  pair.b().post_receive(1, kTo, 100);
  EXPECT_EQ(status_of_sending(64), CompletionStatus::kSuccess);
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
}

TEST_F(RawPacketTest, FailsAReceiveThatIsTooSmall) {
  add_flow(pair.b(), rule_for_experiments());
  pair.b().post_receive(1, kTo, 63);
  pair.b().post_receive(2, kTo, 100);
  status_of_sending(64);
  const std::vector<Completion> completions = pair.b().poll();
  ASSERT_EQ(completions.size(), 2u);
  EXPECT_EQ(completions[0].status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(completions[1].status, CompletionStatus::kWorkRequestFlushed);
  EXPECT_EQ(*pair.b().qp().query().state, QpState::kError);
  EXPECT_EQ(received(63), Bytes(63)) << "nothing was written";
}

TEST_F(RawPacketTest, FailsAReceiveWhoseMemoryIsNotOurs) {
  add_flow(pair.b(), rule_for_experiments());
  transport::Sge sge = pair.b().sge(0, 100);
  sge.lkey = transport::Lkey{to_integer(sge.lkey) + 1};
  ASSERT_EQ(QueuePair::ReceiveBatch(pair.b().qp()).post({.wr_id = 1}, {&sge, 1}), PostStatus::kPosted);
  status_of_sending(64);
  EXPECT_EQ(pair.b().poll().at(0).status, CompletionStatus::kLocalProtectionError);
}

TEST_F(RawPacketTest, FlushesBothQueuesInError) {
  pair.wire.room[0] = 0;
  pair.a().post_receive(1, 0, 100);
  pair.a().post_send(2, 0, 64);
  pair.settle();
  EXPECT_TRUE(pair.a().qp().modify({.state = QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "2 flushed, 1 flushed");
  EXPECT_TRUE(pair.a().qp().modify({.state = QpState::kReset}));
  start(pair.a().qp());
  pair.wire.room[0] = 1;
  EXPECT_EQ(status_of_sending(64), CompletionStatus::kSuccess);
}

TEST_F(RawPacketTest, WaitsInSqdUntilTheQueuePairGoesOn) {
  EXPECT_TRUE(pair.a().qp().modify({.state = QpState::kSqDrained}));
  write_frame(64);
  pair.a().post_send(1, 0, 64);
  pair.settle();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_TRUE(pair.a().qp().modify({.state = QpState::kReadyToSend}));
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
}

TEST_F(RawPacketTest, IsNotReceivedBeforeItsQueuePairIsReady) {
  QueuePair& late = add_queue_pair(pair.b());
  EXPECT_TRUE(late.modify({.state = QpState::kInit, .port = std::uint8_t{1}}));
  add_flow(pair.b(), rule_for_experiments(), 1);
  pair.b().post_receive(1, kTo, 100, 1);
  status_of_sending(64);
  EXPECT_EQ(pair.b().poll_text(), "");
  EXPECT_EQ(pair.b().counter("wrong_state_drops"), 1u);
}

TEST_F(RawPacketTest, MayBeReceivedIntoASharedQueue) {
  auto srq = pair.b().device().create_srq({.pd = &pair.b().pd(), .max_wr = 4, .max_sge = 1}).value();
  QpCreateAttributes wanted = attributes(pair.b());
  wanted.srq = srq.get();
  start(pair.b().add_queue_pair(wanted));
  const FlowId flow = add_flow(pair.b(), rule_for_experiments(), 1);
  const std::array sges{pair.b().sge(kTo, 100)};
  ASSERT_EQ(SharedReceiveQueue::Batch(*srq).post({.wr_id = 5}, sges), PostStatus::kPosted);
  status_of_sending(64);
  EXPECT_EQ(pair.b().poll_text(), "5 ok");
  remove_flow(pair.b(), flow);
  pair.b().destroy_queue_pair(1);
  EXPECT_TRUE(pair.b().device().destroy_srq(srq));
}

}  // namespace
}  // namespace urnic::nic
