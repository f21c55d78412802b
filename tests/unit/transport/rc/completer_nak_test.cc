// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NAKs at the completer: going back, and giving up (facts 19, 22, 23 and 24).
#include <chrono>
#include <string>

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class RcCompleterNak : public RcTest {
 protected:
  RcCompleterNak() { connect(); }

  static Bytes local_pattern(std::uint64_t offset, std::size_t size) {
    return pattern(kLocalAddress + offset, size);
  }
};

class RcNamedFailure : public RcTest {};

TEST_F(RcCompleterNak, GoesBackToThePsnOfASequenceNak) {
  post({send_wr(1, 10), send_wr(2, 11), send_wr(3, 12)});
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(201), 1));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(201), local_pattern(0, 11)),
                                  send_only(Psn(202), local_pattern(0, 12))));
  EXPECT_EQ(count(Counter::kPacketSequenceError), 1u);
  EXPECT_EQ(events_.losses(), 1u);
}

// The second NAK tells of what was lost before the requester went back: it uses up nothing, and the peer has
// as long to acknowledge as after any other.
TEST_F(RcCompleterNak, LeavesTheWholeAckTimeoutToWhatIsSentAgain) {
  post({send_wr(1, 10), send_wr(2, 11), send_wr(3, 12)});
  sent();
  const auto timeout = until_timeout();
  arrives(nak(Nak::kSequenceError, Psn(200), 0));
  now_ += std::chrono::microseconds(10);
  arrives(ack(Psn(200), 1));
  now_ += std::chrono::microseconds(10);
  arrives(nak(Nak::kSequenceError, Psn(201), 1));
  now_ += std::chrono::microseconds(10);
  drain();
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(201), local_pattern(0, 11)),
                                  send_only(Psn(202), local_pattern(0, 12))));
  EXPECT_EQ(until_timeout(), timeout);
  EXPECT_EQ(count(Counter::kPacketSequenceError), 1u);
}

// Fact 22.
TEST_F(RcCompleterNak, TakesASequenceNakForAnAckOfEarlierPsns) {
  post({send_wr(1, 10), send_wr(2, 11), send_wr(3, 12)});
  peer_sends(nak(Nak::kSequenceError, Psn(202), 2));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1), Succeeded(2)));
}

// Fact 24, as in capture vs_loss_requests, frames 31 to 34.
TEST_F(RcCompleterNak, ResumesAWriteWithAMiddlePacketWithoutReth) {
  post(write_wr(1, 4000));
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(201)));
  EXPECT_THAT(sent(), ElementsAre(write_middle(Psn(201), local_pattern(1024, 1024)),
                                  write_middle(Psn(202), local_pattern(2048, 1024)),
                                  write_last(Psn(203), local_pattern(3072, 928))));
  EXPECT_EQ(count(Counter::kResumedInsideMessage), 1u);
}

TEST_F(RcCompleterNak, ResumesAWriteWithItsLastPacket) {
  post(write_wr(1, 4000).with_immediate(7));
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(203)));
  EXPECT_THAT(sent(), ElementsAre(write_last_with_immediate(Psn(203), local_pattern(3072, 928), 7)));
}

TEST_F(RcCompleterNak, ResumesAWriteWithItsFirstPacketAndReth) {
  post(write_wr(1, 4000));
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(200)));
  EXPECT_EQ(sent(), write_message(Psn(200), local_pattern(0, 4000), kMtu));
}

// Fact 24, as in capture vs_loss_requests, frames 8 to 14.
TEST_F(RcCompleterNak, ResumesASendWithAMiddlePacket) {
  post(send_wr(1, 4000).with_immediate(7));
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(202)));
  EXPECT_THAT(sent(), ElementsAre(send_middle(Psn(202), local_pattern(2048, 1024)),
                                  send_last_with_immediate(Psn(203), local_pattern(3072, 928), 7)));
}

TEST_F(RcCompleterNak, ResumesInsideTheSecondOfSeveralElements) {
  post(send_wr(1, 0).from_elements({local(1500), local(2500, 20000)}));
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(202)));
  EXPECT_THAT(sent(), ElementsAre(send_middle(Psn(202), local_pattern(20000 + 2048 - 1500, 1024)),
                                  send_last(Psn(203), local_pattern(20000 + 3072 - 1500, 928))));
}

TEST_F(RcCompleterNak, ResumesInlineData) {
  post({send_wr(1, 0).with_inline(payload(5)), send_wr(2, 0).with_inline(payload(6, 1))});
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(201)));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(201), payload(6, 1))));
}

TEST_F(RcCompleterNak, ResumesAcross2To24) {
  endpoint_.reset();
  config_.send_psn = Psn(0xfffffe);
  connect();
  post(write_wr(1, 4000));
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(0)));
  EXPECT_THAT(sent(), ElementsAre(write_middle(Psn(0), local_pattern(2048, 1024)),
                                  write_last(Psn(1), local_pattern(3072, 928))));
}

// Packets are never stored: what is sent again is read again.
TEST_F(RcCompleterNak, ReadsMemoryAgainWhenItResumes) {
  post(send_wr(1, 10));
  sent();
  fill_local_memory(payload(10));
  peer_sends(nak(Nak::kSequenceError, Psn(200)));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(200), payload(10))));
}

TEST_F(RcCompleterNak, ResumesARequestThatTheNakWasNotAbout) {
  post({send_wr(1, 10), read_wr(2, 2000), send_wr(3, 12)});
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(201), 1));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(201), 2000), send_only(Psn(203), local_pattern(0, 12))));
}

// Facts 21 and 22 together: the peer had the READ's request, we have not its responses.
TEST_F(RcCompleterNak, GoesBackToAReadThatASequenceNakPassedOver) {
  post({read_wr(1, 2000), send_wr(2, 10), send_wr(3, 11)});
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(203), 2));
  const auto packets = sent();
  ASSERT_FALSE(packets.empty());
  EXPECT_EQ(packets.front(), read_request(Psn(200), 2000));
  EXPECT_THAT(send_completions(), IsEmpty());
}

// Fact 23: rxe ignores the second NAK of an episode; we do not copy that.
TEST_F(RcCompleterNak, HonoursASecondNakAmidTheRepetition) {
  post(write_wr(1, 8 * kMtu));
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(202)));
  EXPECT_EQ(sent().size(), 6u);
  peer_sends(nak(Nak::kSequenceError, Psn(205)));
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_EQ(packets[0].psn, Psn(205));
}

TEST_F(RcCompleterNak, IgnoresAStaleNak) {
  post({send_wr(1, 10), send_wr(2, 10)});
  peer_sends(ack(Psn(200), 1));
  sent();
  send_completions();
  peer_sends({nak(Nak::kSequenceError, Psn(200)), nak(Nak::kInvalidRequest, Psn(200)),
              nak(Nak::kRemoteAccess, Psn(199)), rnr_nak(1, Psn(200))});
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcCompleterNak, IgnoresANakOfAPsnThatWasNeverSent) {
  post(send_wr(1, 10));
  sent();
  peer_sends({nak(Nak::kSequenceError, Psn(201)), nak(Nak::kInvalidRequest, Psn(201)),
              nak(Nak::kRemoteAccess, Psn(202)), rnr_nak(1, Psn(201))});
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// The ACK of what went missing was only late: nothing of it need be repeated.
TEST_F(RcCompleterNak, StopsRepeatingWhatALateAckCovers) {
  post({send_wr(1, 10), send_wr(2, 11), send_wr(3, 12)});
  sent();
  arrives(nak(Nak::kSequenceError, Psn(200)));
  EXPECT_EQ(poll_one(), send_only(Psn(200), local_pattern(0, 10)));
  peer_sends(ack(Psn(202), 3));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1), Succeeded(2), Succeeded(3)));
}

TEST_F(RcCompleterNak, RepeatsOnlyWhatALateAckDoesNotCover) {
  post({send_wr(1, 10), send_wr(2, 11), send_wr(3, 12)});
  sent();
  arrives(nak(Nak::kSequenceError, Psn(200)));
  peer_sends(ack(Psn(201), 2));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(202), local_pattern(0, 12))));
}

TEST_F(RcCompleterNak, SendsNewWorkBehindTheRepetition) {
  post(send_wr(1, 10));
  sent();
  arrives(nak(Nak::kSequenceError, Psn(200)));
  post(send_wr(2, 11));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(200), local_pattern(0, 10)),
                                  send_only(Psn(201), local_pattern(0, 11))));
}

struct Fatal {
  const char* name;
  Nak nak;
  CompletionStatus status;
};

class RcCompleterFatalNak : public RcCompleterNak, public ::testing::WithParamInterface<Fatal> {};

// Fact 19; 0x63 is what rxe says of a SEND too long (fact 33).
INSTANTIATE_TEST_SUITE_P(
    , RcCompleterFatalNak,
    ::testing::Values(Fatal{"InvalidRequest", Nak::kInvalidRequest, CompletionStatus::kRemoteInvalidRequest},
                      Fatal{"RemoteAccess", Nak::kRemoteAccess, CompletionStatus::kRemoteAccessError},
                      Fatal{"RemoteOperation", Nak::kRemoteOperation,
                            CompletionStatus::kRemoteOperationError}),
    [](const auto& fatal) { return std::string(fatal.param.name); });

TEST_P(RcCompleterFatalNak, FailsTheWorkRequestAndFlushesTheRest) {
  post_receives({9});
  post({send_wr(1, 10), write_wr(2, 3000), send_wr(3, 10).unsignaled(), read_wr(4, 10)});
  sent();
  peer_sends(nak(GetParam().nak, Psn(201), 1));
  EXPECT_THAT(send_completions(),
              ElementsAre(Succeeded(1), Completed(2, GetParam().status), Flushed(3), Flushed(4)));
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(9)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
  EXPECT_EQ(until_timeout(), std::nullopt);
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(count(Counter::kReceivedErrorNak), 1u);
}

TEST_P(RcCompleterFatalNak, FailsTheWorkRequestWhoseMiddleItNames) {
  post({send_wr(1, 10), write_wr(2, 3000), send_wr(3, 10)});
  peer_sends(nak(GetParam().nak, Psn(202), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1), Completed(2, GetParam().status), Flushed(3)));
}

TEST_P(RcCompleterFatalNak, FailsARead) {
  post({read_wr(1, 3000), send_wr(2, 10)});
  peer_sends(nak(GetParam().nak, Psn(200), 0));
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, GetParam().status), Flushed(2)));
}

TEST_P(RcCompleterFatalNak, FailsAReadMidway) {
  post({read_wr(1, 3000), send_wr(2, 10)});
  peer_sends({read_response_first(Psn(200), payload(1024)), nak(GetParam().nak, Psn(201), 1)});
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, GetParam().status), Flushed(2)));
}

TEST_P(RcCompleterFatalNak, FailsAnUnsignaledWorkRequestWithACompletion) {
  post(send_wr(1, 10).unsignaled());
  peer_sends(nak(GetParam().nak, Psn(200), 0));
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, GetParam().status)));
}

// Its data never came; that a later request was refused does not make it complete.
TEST_P(RcCompleterFatalNak, DoesNotCompleteAReadThatItPassedOver) {
  post({read_wr(1, 10), send_wr(2, 10)});
  peer_sends(nak(GetParam().nak, Psn(201), 1));
  for (const Completion& completion : send_completions()) {
    EXPECT_FALSE(completion.wr_id == 1 && completion.status == CompletionStatus::kSuccess);
  }
}

// As irdma reports it: all requests without a completion get one now, and the oldest names the reason.
TEST_F(RcNamedFailure, IsTheOldestRequestWithoutACompletion) {
  config_.names_oldest_failure = true;
  connect();
  post({send_wr(1, 10), send_wr(2, 10).unsignaled(), send_wr(3, 10).unsignaled(), send_wr(4, 10),
        send_wr(5, 10).unsignaled()});
  peer_sends({ack(Psn(202), 3), nak(Nak::kRemoteAccess, Psn(203), 3)});
  EXPECT_THAT(send_completions(),
              ElementsAre(Succeeded(1), Completed(2, CompletionStatus::kRemoteAccessError), Flushed(3),
                          Flushed(4), Flushed(5)));
}

TEST_F(RcNamedFailure, IsTheRequestThatFailedOtherwise) {
  connect();
  post({send_wr(1, 10).unsignaled(), send_wr(2, 10), send_wr(3, 10).unsignaled()});
  peer_sends({ack(Psn(200), 1), nak(Nak::kRemoteAccess, Psn(201), 1)});
  EXPECT_THAT(send_completions(),
              ElementsAre(Completed(2, CompletionStatus::kRemoteAccessError), Flushed(3)));
}

}  // namespace
}  // namespace urnic::transport::test
