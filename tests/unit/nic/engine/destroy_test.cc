// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is left of a queue pair when it is destroyed.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/nic/device_pair.h"
#include "transport/wire/frame.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using Bytes = FakeWire::Bytes;

bool is_acknowledgement(const Bytes& bytes) {
  const auto frame = transport::wire::parse_frame(bytes);
  return frame &&
         transport::wire::Bth::parse(frame.value().ib).opcode == transport::wire::Opcode::kRcAcknowledge;
}

/// A has sent its last message; B has it and has destroyed its queue pair; its acknowledgement was lost.
class DestroyTest : public testing::Test {
 protected:
  DestroyTest() {
    pair.connect();
    pair.settle();
    pair.b().post_receive(1, 0, 10);
    pair.b().post_receive(2, 0, 10);
    pair.a().post_send(1, 0, 10);
    pair.settle();
    pair.wire.is_lost = [](std::size_t, const Bytes& frame) { return is_acknowledgement(frame); };
    pair.a().post_send(2, 0, 10);
    pair.settle();
    EXPECT_EQ(pair.b().poll_text(), "1 ok, 2 ok");
    EXPECT_EQ(pair.a().poll_text(), "1 ok");
    pair.b().destroy_queue_pair();
  }
  void stop_losing() {
    pair.wire.is_lost = [](std::size_t, const Bytes&) { return false; };
  }

  DevicePair pair;
};

TEST_F(DestroyTest, AcknowledgesARepeatOfWhatTheQueuePairHadExecuted) {
  stop_losing();
  pair.pass(70ms);
  EXPECT_EQ(pair.a().poll_text(), "2 ok");
  EXPECT_EQ(pair.b().counter("answered_after_destroy"), 1u);
  EXPECT_EQ(pair.a().counter("retry_exceeded_err"), 0u);
}

TEST_F(DestroyTest, AcknowledgesWithTheNewestPsnAndTheCountOfMessages) {
  pair.pass(70ms);
  const Bytes& last = pair.wire.sent_by(1).back();
  const auto frame = transport::wire::parse_frame(last).value();
  EXPECT_TRUE(frame.icrc_ok());
  const auto packet = transport::wire::parse_packet(frame.ib).value();
  EXPECT_EQ(packet.bth.opcode, transport::wire::Opcode::kRcAcknowledge);
  EXPECT_EQ(packet.bth.psn, transport::Psn(101));
  EXPECT_EQ(packet.bth.destination_qp, pair.a().qp().number());
  EXPECT_EQ(packet.aeth.syndrome, 0x1f);
  EXPECT_EQ(packet.aeth.msn, 2u);
}

// Linux's rdma_cm gives queue pairs an ACK timeout of 4.096 us x 2^19.
TEST_F(DestroyTest, AnswersAfterTheTimeThatAPeerOfRdmaCmTakesToRepeat) {
  pair.clock.advance(2148ms);
  stop_losing();
  pair.pass(70ms);
  EXPECT_GT(pair.b().counter("answered_after_destroy"), 0u);
  EXPECT_EQ(pair.a().poll_text(), "2 ok");
}

TEST_F(DestroyTest, AnswersForALimitedTime) {
  pair.clock.advance(5001ms);
  stop_losing();
  pair.pass(1s);
  EXPECT_EQ(pair.b().counter("answered_after_destroy"), 0u);
  EXPECT_GT(pair.b().counter("rx_drop_unknown_qp"), 0u);
  EXPECT_EQ(pair.a().poll_text(), "2 retry exceeded");
}

TEST_F(DestroyTest, ExecutesNothingNew) {
  stop_losing();
  pair.pass(70ms);
  EXPECT_EQ(pair.a().poll_text(), "2 ok");
  pair.a().post_send(3, 0, 10);
  pair.pass(1s);
  EXPECT_EQ(pair.a().poll_text(), "3 retry exceeded");
  EXPECT_EQ(pair.b().poll_text(), "");
}

TEST_F(DestroyTest, AnswersNobodyButThePeer) {
  // A repeat of the lost message under another source address.
  auto frame = transport::wire::parse_frame(pair.wire.sent_by(0).back()).value();
  std::get<transport::wire::Ipv4>(frame.ip).source.octets[3] = 9;
  frame.icrc = icrc_of(frame);
  Bytes bytes(200);
  bytes.resize(emit_frame(frame, bytes));
  pair.wire.deliver(1, bytes);
  pair.b().device().progress();
  EXPECT_EQ(pair.b().counter("answered_after_destroy"), 0u);
  EXPECT_EQ(pair.b().counter("rx_drop_unknown_qp"), 1u);
}

/// A sends a message of wr_id 1 and, right after it, a READ or an atomic of wr_id 2. B does both and destroys
/// its queue pair, but all its answers were lost. Then nothing is lost any more, and A repeats.
class DestroyBehindResponseTest : public testing::TestWithParam<transport::SendOperation> {};

INSTANTIATE_TEST_SUITE_P(Operation, DestroyBehindResponseTest,
                         testing::Values(transport::SendOperation::kRead,
                                         transport::SendOperation::kFetchAdd));

// rdma_rxe takes an ACK of a READ's or an atomic's PSN for its response, and completes it without a result.
TEST_P(DestroyBehindResponseTest, DoesNotAcknowledgeARequestThatHasAResponse) {
  DevicePair pair;
  pair.connect();
  pair.settle();
  pair.b().post_receive(1, 0, 10);
  pair.wire.is_lost = [](std::size_t from, const Bytes&) { return from == 1; };
  pair.a().post_send(1, 0, 10);
  pair.a().post({.wr_id = 2,
                 .operation = GetParam(),
                 .signaled = true,
                 .remote_address = pair.b().region().address,
                 .rkey = transport::Rkey{pair.b().region().key}},
                0, 8);
  pair.settle();
  ASSERT_EQ(pair.b().poll_text(), "1 ok");
  pair.b().destroy_queue_pair();
  pair.wire.is_lost = [](std::size_t, const Bytes&) { return false; };
  const std::size_t sent_before = pair.wire.sent_by(1).size();
  pair.pass(70ms);
  EXPECT_EQ(pair.a().poll_text(), "1 ok");

  ASSERT_GT(pair.wire.sent_by(1).size(), sent_before);
  for (std::size_t i = sent_before; i < pair.wire.sent_by(1).size(); ++i) {
    const auto frame = transport::wire::parse_frame(pair.wire.sent_by(1)[i]).value();
    const auto packet = transport::wire::parse_packet(frame.ib).value();
    EXPECT_EQ(packet.bth.opcode, transport::wire::Opcode::kRcAcknowledge);
    EXPECT_EQ(packet.bth.psn, transport::Psn(100));
    EXPECT_EQ(packet.aeth.msn, 2u);
  }
  pair.pass(1s);
  EXPECT_EQ(pair.a().poll_text(), "2 retry exceeded");
}

TEST(Destroy, LeavesNothingOfAQueuePairThatWasReset) {
  DevicePair pair;
  pair.connect();
  pair.settle();
  pair.b().post_receive(1, 0, 10);
  pair.wire.is_lost = [](std::size_t, const Bytes& frame) { return is_acknowledgement(frame); };
  pair.a().post_send(1, 0, 10);
  pair.settle();
  ASSERT_TRUE(pair.b().qp().modify({.state = transport::QpState::kReset}));
  pair.b().destroy_queue_pair();
  pair.pass(1s);
  EXPECT_EQ(pair.b().counter("answered_after_destroy"), 0u);
}

TEST(Destroy, SendsTheAcknowledgementThatIsOwedFirst) {
  DevicePair pair;
  pair.connect();
  pair.settle();
  pair.b().post_receive(1, 0, 10);
  pair.wire.room[1] = 0;
  pair.a().post_send(1, 0, 10);
  pair.a().device().progress();
  pair.b().device().progress();
  pair.wire.room[1] = 100;
  pair.b().destroy_queue_pair();
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
}

TEST(Destroy, DoesNotWaitForAPortThatStaysFull) {
  DevicePair pair;
  pair.connect();
  pair.settle();
  pair.b().post_receive(1, 0, 10);
  pair.wire.room[1] = 0;
  pair.a().post_send(1, 0, 10);
  pair.a().device().progress();
  pair.b().device().progress();
  pair.b().destroy_queue_pair();
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "");
}

TEST(Destroy, ForgetsADoorbellThatRang) {
  DevicePair pair;
  pair.connect();
  pair.settle();
  pair.a().post_send(1, 0, 10);
  pair.a().destroy_queue_pair();
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "");
}

}  // namespace
}  // namespace urnic::nic
