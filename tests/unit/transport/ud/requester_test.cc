// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a UD requester writes, where it says that it goes, and what it refuses.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class UdRequesterTest : public UdTest {
 protected:
  UdRequesterTest() { connect(); }

  static SendWr to(SendWr wr, AddressHandleId address, QpNumber qp) {
    wr.request.destination.address = address;
    wr.request.destination.qp = qp;
    return wr;
  }
  static SendWr unreadable_wr(std::uint64_t wr_id) {
    return datagram_wr(wr_id, 0).from_elements(
        {{.address = kLocalAddress, .length = 10, .lkey = Lkey{0xbad}}});
  }
};

TEST_F(UdRequesterTest, SendsOneDatagramPerWorkRequest) {
  for (const std::uint32_t length : {0u, 1u, 2u, 3u, 4u, 1023u, 1024u}) {
    SCOPED_TRACE(length);
    const Psn psn = endpoint_.next_send_psn();
    post(datagram_wr(1, length));
    EXPECT_THAT(sent(), ElementsAre(to_peer(psn, local_memory(0, length))));
    EXPECT_THAT(send_completions(), ElementsAre(AllOf(Succeeded(1), Field(&Completion::byte_length, length),
                                                      Field(&Completion::opcode, CompletionOpcode::kSend))));
  }
}

TEST_F(UdRequesterTest, SendsImmediateInlineGatheredAndSolicited) {
  post({datagram_wr(1, 5).with_immediate(0x01020304), datagram_wr(2, 0).with_inline(payload(7)),
        datagram_wr(3, 0).from_elements({local(3, 100), local(2, 50)}), datagram_wr(4, 5).solicited()});
  EXPECT_THAT(sent(), ElementsAre(to_peer(Psn(200), local_memory(0, 5)).with_immediate(0x01020304),
                                  to_peer(Psn(201), payload(7)),
                                  to_peer(Psn(202), local_memory(100, 3) + local_memory(50, 2)),
                                  to_peer(Psn(203), local_memory(0, 5)).solicits()));
}

TEST_F(UdRequesterTest, CountsPsnsAcrossTheEndOfTheirSpaceWhoeverTheyGoTo) {
  config_.send_psn = Psn(0xffffff);
  endpoint_.reset();
  connect();
  post({datagram_wr(1, 0), to(datagram_wr(2, 0), AddressHandleId{6}, QpNumber{0x33})});
  EXPECT_THAT(sent(), ElementsAre(Field(&QpPacket::psn, Psn(0xffffff)), Field(&QpPacket::psn, Psn(0))));
}

// Fact 16.
TEST_F(UdRequesterTest, SendsItsOwnQkeyWhenTheTopBitOfTheWorkRequestsIsSet) {
  post({datagram_wr(1, 0, 0x7fffffff), datagram_wr(2, 0, 0x80000000), datagram_wr(3, 0, 0xffffffff)});
  EXPECT_THAT(sent(), ElementsAre(Field(&QpPacket::qkey, 0x7fffffffu), Field(&QpPacket::qkey, kQkey),
                                  Field(&QpPacket::qkey, kQkey)));
}

TEST_F(UdRequesterTest, NamesTheAddressOfEachPacketBeforeItIsWritten) {
  post_quietly(to(datagram_wr(1, 0), AddressHandleId{6}, QpNumber{0x33}));
  post_quietly(to(datagram_wr(2, 0), AddressHandleId{9}, QpNumber{0x44}));
  EXPECT_EQ(endpoint_.next_destination().address, AddressHandleId{6});
  ASSERT_TRUE(poll_bytes());
  EXPECT_EQ(endpoint_.next_destination().address, AddressHandleId{9});
  ASSERT_TRUE(poll_bytes());
  EXPECT_EQ(endpoint_.next_destination().address, AddressHandleId{});
}

TEST_F(UdRequesterTest, NamesNoAddressWhenItMayNotSend) {
  endpoint_.to_send_queue_drained(config_);
  post_quietly(datagram_wr(1, 0));
  EXPECT_EQ(endpoint_.next_destination().address, AddressHandleId{});
  endpoint_.to_ready_to_send(config_);
  EXPECT_EQ(endpoint_.next_destination().address, kPeerAddress);
  endpoint_.to_error();
  EXPECT_EQ(endpoint_.next_destination().address, AddressHandleId{});
}

TEST_F(UdRequesterTest, NamesNoAddressForAWorkRequestThatWillFail) {
  post_quietly(datagram_wr(1, kMtu + 1));
  EXPECT_EQ(endpoint_.next_destination().address, AddressHandleId{});
}

TEST_F(UdRequesterTest, RefusesAMessageLongerThanThePathMtu) {
  post({datagram_wr(1, 1024), datagram_wr(2, 1025), datagram_wr(3, 5)});
  EXPECT_THAT(sent(), ElementsAre(to_peer(Psn(200), local_memory(0, 1024))));
  EXPECT_THAT(send_completions(),
              ElementsAre(Succeeded(1), Completed(2, CompletionStatus::kLocalLengthError), Flushed(3)));
  EXPECT_EQ(endpoint_.state(), QpState::kSqError);
  EXPECT_EQ(count(Counter::kSendCompletionError), 1u);
}

TEST_F(UdRequesterTest, RefusesOperationsThatTheServiceDoesNotHave) {
  for (const SendOperation operation :
       {SendOperation::kSendWithInvalidate, SendOperation::kWrite, SendOperation::kWriteWithImmediate,
        SendOperation::kRead, SendOperation::kCompareSwap, SendOperation::kFetchAdd, SendOperation::kFlush,
        SendOperation::kAtomicWrite, SendOperation::kLocalInvalidate, SendOperation::kBindWindow}) {
    SCOPED_TRACE(static_cast<int>(operation));
    SendWr wr = datagram_wr(1, 8);
    wr.request.operation = operation;
    post(wr);
    EXPECT_THAT(sent(), IsEmpty());
    EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalQpOperationError)));
    endpoint_.to_ready_to_send(config_);
  }
}

TEST_F(UdRequesterTest, RefusesADatagramWithoutAnAddress) {
  post(to(datagram_wr(1, 8), AddressHandleId{}, QpNumber{0x33}));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalQpOperationError)));
}

TEST_F(UdRequesterTest, StopsTheSendQueueWhenMemoryCannotBeReadAndGoesOnWhenTold) {
  post({unreadable_wr(1).unsignaled(), datagram_wr(2, 5)});
  EXPECT_THAT(send_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError), Flushed(2)));
  post(datagram_wr(3, 5));
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(3)));
  EXPECT_THAT(sent(), IsEmpty());
  endpoint_.to_ready_to_send(config_);
  post(datagram_wr(4, 5));
  EXPECT_THAT(sent(), ElementsAre(to_peer(Psn(200), local_memory(0, 5))));
}

TEST_F(UdRequesterTest, BeginsNothingWhileDraining) {
  config_.notify_when_drained = true;
  endpoint_.to_send_queue_drained(config_);
  post(datagram_wr(1, 5));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(events(), ElementsAre(QpEvent::kSqDrained));
  endpoint_.to_ready_to_send(config_);
  drain();
  EXPECT_THAT(sent(), ElementsAre(to_peer(Psn(200), local_memory(0, 5))));
}

}  // namespace
}  // namespace urnic::transport::test
