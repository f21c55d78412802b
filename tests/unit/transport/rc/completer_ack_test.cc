// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Acknowledgements at the completer (facts 19, 20, 21 and 25).
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class RcCompleterAck : public RcTest {
 protected:
  RcCompleterAck() { connect(); }
};

TEST_F(RcCompleterAck, CompletesWhatIsAcknowledged) {
  post(send_wr(1, 10));
  EXPECT_THAT(send_completions(), IsEmpty());
  peer_sends(ack(Psn(200), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_TRUE(send_queue_.is_empty());
}

TEST_F(RcCompleterAck, SaysWhichOperationEnded) {
  post({send_wr(1, 10), send_wr(2, 10).with_immediate(7), write_wr(3, 10), write_wr(4, 10).with_immediate(7),
        read_wr(5, 10)});
  peer_sends({ack(Psn(203), 4), read_response_only(Psn(204), payload(10), 5)});
  const auto opcode = [](CompletionOpcode value) { return Field(&Completion::opcode, value); };
  EXPECT_THAT(send_completions(), ElementsAre(AllOf(Succeeded(1), opcode(CompletionOpcode::kSend)),
                                              AllOf(Succeeded(2), opcode(CompletionOpcode::kSend)),
                                              AllOf(Succeeded(3), opcode(CompletionOpcode::kRdmaWrite)),
                                              AllOf(Succeeded(4), opcode(CompletionOpcode::kRdmaWrite)),
                                              AllOf(Succeeded(5), opcode(CompletionOpcode::kRdmaRead))));
}

TEST_F(RcCompleterAck, SaysWhoseWorkRequestEnded) {
  post(send_wr(1, 10));
  peer_sends(ack(Psn(200), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Field(&Completion::qp_number, kOurQp)));
}

// Fact 21.
TEST_F(RcCompleterAck, CompletesEverythingUpToACoalescedAck) {
  post({send_wr(1, 10), write_wr(2, 3000), send_wr(3, 10), send_wr(4, 10)});
  peer_sends(ack(Psn(204), 3));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1), Succeeded(2), Succeeded(3)));
  peer_sends(ack(Psn(205), 4));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(4)));
}

// Fact 20: such an ACK carries the old MSN.
TEST_F(RcCompleterAck, DoesNotCompleteAMessageAcknowledgedInTheMiddle) {
  post(write_wr(1, 3000));
  peer_sends(ack(Psn(201), 0));
  EXPECT_THAT(send_completions(), IsEmpty());
  peer_sends(ack(Psn(202), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(RcCompleterAck, CompletesAcross2To24) {
  endpoint_.reset();
  config_.send_psn = Psn(0xffffff);
  connect();
  post({write_wr(1, 3000), send_wr(2, 10)});
  peer_sends(ack(Psn(0xffffff)));
  EXPECT_THAT(send_completions(), IsEmpty());
  peer_sends(ack(Psn(2)));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1), Succeeded(2)));
}

TEST_F(RcCompleterAck, IsSilentAboutAnUnsignaledWorkRequest) {
  post({send_wr(1, 10).unsignaled(), send_wr(2, 10), write_wr(3, 10).unsignaled()});
  peer_sends(ack(Psn(202), 3));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(2)));
  EXPECT_TRUE(send_queue_.is_empty());
}

// Fact 25: rxe sends many.
TEST_F(RcCompleterAck, IgnoresAStaleAck) {
  post(send_wr(1, 10));
  peer_sends(ack(Psn(200), 1));
  post(send_wr(2, 10));
  send_completions();
  sent();

  peer_sends({ack(Psn(200), 1), ack(Psn(200), 1), ack(Psn(199), 0), ack(Psn(100), 0)});

  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcCompleterAck, IgnoresAnAckOfAPsnThatWasNeverSent) {
  post(send_wr(1, 10));
  sent();
  peer_sends({ack(Psn(201), 2), ack(Psn(200 + 0x7fffff), 2)});
  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(count(Counter::kUnexpectedAcknowledge), 2u);
  peer_sends(ack(Psn(200), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

// The window keeps the rest of the message back; its PSNs are assigned, but were never sent.
TEST_F(RcCompleterAck, IgnoresAnAckOfAPsnThatTheWindowHeldBack) {
  endpoint_.reset();
  config_.window_packets = 2;
  connect();
  post(write_wr(1, 4000));
  EXPECT_EQ(sent().size(), 2u);
  peer_sends(ack(Psn(203), 1));
  EXPECT_THAT(send_completions(), IsEmpty());
}

TEST_F(RcCompleterAck, IgnoresAnAckWhenNothingIsUnderWay) {
  peer_sends({ack(Psn(199)), ack(Psn(200)), ack(Psn(201)), nak(Nak::kInvalidRequest, Psn(200)),
              nak(Nak::kSequenceError, Psn(200)), rnr_nak(1, Psn(200)),
              read_response_only(Psn(200), payload(1))});
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  EXPECT_EQ(until_timeout(), std::nullopt);
}

// Fact 21: an implied NAK.
TEST_F(RcCompleterAck, RepeatsAReadThatAnAckPassedOver) {
  post({send_wr(1, 10), read_wr(2, 2000), send_wr(3, 10)});
  sent();

  peer_sends(ack(Psn(203), 3));

  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_THAT(sent(),
              ElementsAre(read_request(Psn(201), 2000), send_only(Psn(203), pattern(kLocalAddress, 10))));
  EXPECT_EQ(count(Counter::kImpliedNakSequenceError), 1u);
}

TEST_F(RcCompleterAck, CompletesAReadThatWasRepeated) {
  post({read_wr(1, 2000), send_wr(2, 10)});
  peer_sends(ack(Psn(202), 2));
  peer_sends(read_responses(Psn(200), payload(2000), kMtu));
  peer_sends(ack(Psn(202), 2));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1), Succeeded(2)));
  EXPECT_EQ(local_memory(0, 2000), payload(2000));
}

// Fact 21, when some of the responses have come: we request only the rest (fact 26).
TEST_F(RcCompleterAck, RepeatsTheRestOfAReadThatAnAckPassedOver) {
  post({read_wr(1, 3000).from_elements({local(3000, 0x8000)}), send_wr(2, 10)});
  sent();
  peer_sends({read_response_first(Psn(200), payload(1024)), ack(Psn(203), 2)});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(201), 1976, kShared + 1024),
                                  send_only(Psn(203), pattern(kLocalAddress, 10))));
  EXPECT_THAT(send_completions(), IsEmpty());
}

// Only its responses complete a READ.
TEST_F(RcCompleterAck, DoesNotCompleteAReadByAnAckOfItsOwnPsn) {
  post(read_wr(1, 10));
  peer_sends(ack(Psn(200), 1));
  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// A response answers everything before its request.
TEST_F(RcCompleterAck, TakesAReadResponseForAnAckOfEarlierRequests) {
  post({send_wr(1, 10), write_wr(2, 3000), read_wr(3, 2000)});
  peer_sends(read_response_first(Psn(204), payload(1024), 3));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1), Succeeded(2)));
  peer_sends(read_response_last(Psn(205), payload(976), 3));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(3)));
}

// Bits 7 to 5 of 010 are reserved, as is bit 7.
TEST_F(RcCompleterAck, TakesNoReservedSyndromeForAnAck) {
  post(send_wr(1, 10));
  for (const std::uint8_t syndrome : std::to_array<std::uint8_t>({0x40, 0x5f, 0x80, 0x9f, 0xe0, 0xff})) {
    peer_sends(ack(Psn(200), 1).with_syndrome(syndrome));
    for (const Completion& completion : send_completions()) {
      EXPECT_NE(completion.status, CompletionStatus::kSuccess) << unsigned{syndrome};
    }
  }
}

TEST_F(RcCompleterAck, TakesAnyCreditCountForAnAck) {
  for (std::uint32_t credits = 0; credits < 32; ++credits) {
    post(write_wr(credits, 1));
    peer_sends(ack(Psn(200 + credits), credits + 1).with_syndrome(static_cast<std::uint8_t>(credits)));
    EXPECT_THAT(send_completions(), ElementsAre(Succeeded(credits)));
  }
}

// An ATOMIC ACK answers nothing we ever ask.
TEST_F(RcCompleterAck, SurvivesAnAtomicAcknowledge) {
  post(send_wr(1, 10));
  QpPacket packet = ack(Psn(200), 1);
  packet.opcode = static_cast<wire::Opcode>(0x12);
  peer_sends(packet);
  for (const Completion& completion : send_completions()) {
    EXPECT_NE(completion.status, CompletionStatus::kSuccess);
  }
}

}  // namespace
}  // namespace urnic::transport::test
