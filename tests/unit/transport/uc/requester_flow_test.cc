// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// When UC work requests complete, what stops them (SQE), and how they are held back (SQD).
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class UcRequesterFlow : public UcTest {
 protected:
  UcRequesterFlow() { connect(); }

  SendWr unreadable_wr(std::uint64_t wr_id) const {
    return send_wr(wr_id, 0).from_elements({{.address = kLocalAddress, .length = 10, .lkey = Lkey{0xbad}}});
  }
};

TEST_F(UcRequesterFlow, CompletesAWorkRequestWithItsLastPacket) {
  post_quietly(send_wr(1, 2048));
  EXPECT_EQ(endpoint_.next_destination().address, AddressHandleId{}) << "its own path";
  ASSERT_TRUE(poll_bytes());
  EXPECT_THAT(send_completions(), IsEmpty());
  ASSERT_TRUE(poll_bytes());
  EXPECT_THAT(
      send_completions(),
      ElementsAre(AllOf(Succeeded(1), Field(&Completion::opcode, CompletionOpcode::kSend),
                        Field(&Completion::byte_length, 2048u), Field(&Completion::qp_number, kOurQp))));
}

TEST_F(UcRequesterFlow, SendsNothingTwiceAndNeedsNoTimer) {
  post(send_wr(1, 2000));
  EXPECT_THAT(sent(), SizeIs(2));
  EXPECT_EQ(endpoint_.next_timeout(), kNever);
  endpoint_.on_timeout(now_ + std::chrono::seconds(100));
  drain();
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(UcRequesterFlow, CompletesWritesAsWrites) {
  post({write_wr(1, 5), write_wr(2, 5).with_immediate(1)});
  EXPECT_THAT(send_completions(),
              ElementsAre(AllOf(Succeeded(1), Field(&Completion::opcode, CompletionOpcode::kRdmaWrite)),
                          AllOf(Succeeded(2), Field(&Completion::opcode, CompletionOpcode::kRdmaWrite))));
}

TEST_F(UcRequesterFlow, KeepsQuietAboutUnsignaledSuccessButNotAboutFailure) {
  post(
      {send_wr(1, 5).unsignaled(), send_wr(2, 5), unreadable_wr(3).unsignaled(), send_wr(4, 5).unsignaled()});
  EXPECT_THAT(send_completions(),
              ElementsAre(Succeeded(2), Completed(3, CompletionStatus::kLocalProtectionError), Flushed(4)));
  EXPECT_EQ(count(Counter::kSendCompletionError), 1u) << "flushed ones are not counted";
}

TEST_F(UcRequesterFlow, FailsOperationsThatTheServiceDoesNotHave) {
  for (const SendOperation operation :
       {SendOperation::kSendWithInvalidate, SendOperation::kRead, SendOperation::kCompareSwap,
        SendOperation::kFetchAdd, SendOperation::kFlush, SendOperation::kAtomicWrite}) {
    SCOPED_TRACE(static_cast<int>(operation));
    SendWr wr = send_wr(1, 8);
    wr.request.operation = operation;
    post({wr, send_wr(2, 1)});
    EXPECT_THAT(sent(), IsEmpty());
    EXPECT_THAT(send_completions(),
                ElementsAre(Completed(1, CompletionStatus::kLocalQpOperationError), Flushed(2)));
    EXPECT_EQ(endpoint_.state(), QpState::kSqError);
    endpoint_.to_ready_to_send(config_);
  }
}

TEST_F(UcRequesterFlow, BindsWindowsAndTakesThemBackBetweenMessages) {
  dma_.allow_invalidate(0x77);
  SendWr bind = send_wr(2, 0);
  bind.request.operation = SendOperation::kBindWindow;
  bind.request.binding.window = Rkey{0x77};
  SendWr invalidate = send_wr(3, 0);
  invalidate.request.operation = SendOperation::kLocalInvalidate;
  invalidate.request.invalidate_rkey = Rkey{0x77};
  post({send_wr(1, 5), bind, invalidate, invalidate, send_wr(5, 5)});
  EXPECT_THAT(sent(), ElementsAre(as_uc(send_only(Psn(200), local_memory(0, 5)))));
  EXPECT_THAT(send_completions(),
              ElementsAre(Succeeded(1), Succeeded(2), Succeeded(3),
                          Completed(3, CompletionStatus::kLocalQpOperationError), Flushed(5)));
  EXPECT_EQ(dma_.bindings().size(), 1u);
}

TEST_F(UcRequesterFlow, StopsTheSendQueueWhenMemoryCannotBeRead) {
  post({send_wr(1, 5), unreadable_wr(2), send_wr(3, 5)});
  EXPECT_THAT(sent(), ElementsAre(as_uc(send_only(Psn(200), local_memory(0, 5)))));
  EXPECT_THAT(send_completions(),
              ElementsAre(Succeeded(1), Completed(2, CompletionStatus::kLocalProtectionError), Flushed(3)));
  EXPECT_EQ(endpoint_.state(), QpState::kSqError);
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(UcRequesterFlow, FlushesWhatIsPostedWhileTheSendQueueIsStopped) {
  post(unreadable_wr(1));
  send_completions();
  post({send_wr(2, 5), write_wr(3, 5)});
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(2), Flushed(3)));
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(UcRequesterFlow, ReceivesWhileTheSendQueueIsStopped) {
  post(unreadable_wr(1));
  post_receives({7});
  peer_sends(send_only(Psn(100), payload(5)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(7)));
}

TEST_F(UcRequesterFlow, GoesOnWithTheNextPsnOnceToldTo) {
  post({send_wr(1, 5), unreadable_wr(2)});
  sent();
  send_completions();
  endpoint_.to_ready_to_send(config_);
  post(send_wr(3, 7));
  EXPECT_THAT(sent(), ElementsAre(as_uc(send_only(Psn(201), local_memory(0, 7)))));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(3)));
}

// The packets that left are the beginning of a message that has no end: the peer drops it.
TEST_F(UcRequesterFlow, AbandonsAMessageWhoseMemoryGoesAwayOnTheWay) {
  post_quietly(send_wr(1, 3000));
  post_quietly(send_wr(2, 5));
  ASSERT_TRUE(poll_bytes());
  dma_.remove_region(to_integer(kLocalKey));
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError), Flushed(2)));
  endpoint_.to_ready_to_send(config_);
  post(send_wr(3, 0));
  EXPECT_THAT(sent(), ElementsAre(as_uc(send_only(Psn(201), {}))));
}

TEST_F(UcRequesterFlow, FailsAMessageLongerThanTheLongest) {
  post(send_wr(1, 0).from_elements({local(kMaxMessageBytes), local(1)}));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalLengthError)));
}

// Half a million packets of the longest message; each payload begins with the address that it was read from.
TEST_F(UcRequesterFlow, SendsTheLongestMessageWhole) {
  config_.path_mtu = PathMtu::k4096;
  endpoint_.reset();
  connect();
  constexpr Sge kHuge{.address = 0x1'0000'0000, .length = kMaxMessageBytes, .lkey = Lkey{0xabc}};
  dma_.add_sparse_region({.key = 0xabc, .address = kHuge.address, .length = kHuge.length, .pd = kPd});
  post_quietly(write_wr(1, 0).from_elements({kHuge}));

  constexpr std::uint32_t kPackets = kMaxMessageBytes / 4096;
  std::vector<std::byte> out(kMaxPacketHeaderBytes + 4096);
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    const std::size_t size = endpoint_.poll_transmit(out, now_).size;
    ASSERT_EQ(size, i == 0 ? 12u + 16u + 4096u : 12u + 4096u);
    const unsigned expected_opcode = i == 0 ? 0x26 : i + 1 == kPackets ? 0x28 : 0x27;
    ASSERT_EQ(std::to_integer<unsigned>(out[0]), expected_opcode) << i;
    ASSERT_EQ(dma_.last_call().address, kHuge.address + std::uint64_t{i} * 4096);
    ASSERT_EQ(send_queue_.is_empty(), i + 1 == kPackets);
  }
  EXPECT_EQ(endpoint_.poll_transmit(out, now_).size, 0u);
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(endpoint_.next_send_psn(), Psn(200 + kPackets));
}

// --- SQD ---

TEST_F(UcRequesterFlow, FinishesAMessageButBeginsNoneWhileDraining) {
  post_quietly(send_wr(1, 2000));
  post_quietly(send_wr(2, 5));
  ASSERT_TRUE(poll_bytes());
  config_.notify_when_drained = true;
  endpoint_.to_send_queue_drained(config_);
  EXPECT_THAT(events(), IsEmpty());
  drain();
  EXPECT_THAT(sent(), ElementsAre(as_uc(send_last(Psn(201), local_memory(1024, 976)))));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_THAT(events(), ElementsAre(QpEvent::kSqDrained));
  post(send_wr(3, 5));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(events(), IsEmpty()) << "the event comes once";
}

TEST_F(UcRequesterFlow, IsDrainedAtOnceBetweenMessages) {
  config_.notify_when_drained = true;
  endpoint_.to_send_queue_drained(config_);
  drain();
  EXPECT_THAT(events(), ElementsAre(QpEvent::kSqDrained));
  EXPECT_EQ(endpoint_.state(), QpState::kSqDrained);
}

TEST_F(UcRequesterFlow, SaysNothingOfDrainingUnlessAsked) {
  post(send_wr(1, 5));
  endpoint_.to_send_queue_drained(config_);
  drain();
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(UcRequesterFlow, GoesOnAfterDraining) {
  post(send_wr(1, 5));
  sent();
  endpoint_.to_send_queue_drained(config_);
  post(send_wr(2, 5));
  EXPECT_THAT(sent(), IsEmpty());
  endpoint_.to_ready_to_send(config_);
  drain();
  EXPECT_THAT(sent(), ElementsAre(as_uc(send_only(Psn(201), local_memory(0, 5)))));
}

TEST_F(UcRequesterFlow, StopsTheSendQueueEvenWhileDraining) {
  post_quietly(send_wr(1, 2000));
  post_quietly(send_wr(2, 5));
  ASSERT_TRUE(poll_bytes());
  config_.notify_when_drained = true;
  endpoint_.to_send_queue_drained(config_);
  dma_.remove_region(to_integer(kLocalKey));
  drain();
  EXPECT_EQ(endpoint_.state(), QpState::kSqError);
  EXPECT_THAT(send_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError), Flushed(2)));
  EXPECT_THAT(events(), IsEmpty());
}

}  // namespace
}  // namespace urnic::transport::test
