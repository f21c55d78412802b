// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Selective repeat at the requester: what it sends again, and when (recovery/SELECTIVE_REPEAT.md).
#include <vector>

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RcSelectiveRequester : public RcTest {
 protected:
  RcSelectiveRequester() {
    config_.recovery = Recovery::kSelectiveRepeat;
    config_.max_reads_in_flight = 4;
  }

  /// Connects, and posts so many WRITEs of one packet, the first with PSN 200; all are sent.
  void connect_and_send(std::uint64_t writes) {
    connect();
    post_writes(writes);
  }
  void post_writes(std::uint64_t writes) {
    for (std::uint64_t i = 0; i < writes; ++i) post(write_wr(i, 10));
    sent();
  }
  std::vector<std::uint32_t> sent_psns() {
    std::vector<std::uint32_t> psns;
    for (const QpPacket& packet : sent()) psns.push_back(packet.psn.value());
    return psns;
  }
};

TEST_F(RcSelectiveRequester, SendsAgainOnlyWhatTheGapsAre) {
  connect();
  post(write_wr(1, 6 * kMtu));
  const auto first = sent();
  peer_sends(selective_nak(Psn(201), {202, 204}));
  EXPECT_THAT(sent(), ElementsAre(first[1], first[3]));
  EXPECT_EQ(count(Counter::kPacketSequenceError), 1u);
  EXPECT_EQ(events_.losses(), 1u);
}

TEST_F(RcSelectiveRequester, CompletesWhatANakAcknowledges) {
  connect_and_send(4);
  peer_sends(selective_nak(Psn(202), {203}, 2));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(0), Succeeded(1)));
  peer_sends(ack(Psn(203), 4));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(2), Succeeded(3)));
}

TEST_F(RcSelectiveRequester, SendsWhatIsLostBeforeWhatIsNew) {
  config_.window_packets = 4;
  connect_and_send(4);
  post_writes(2);  // no room for them yet
  peer_sends(selective_nak(Psn(200), {201, 203}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{200, 202, 204, 205}));
}

TEST_F(RcSelectiveRequester, SendsAPacketAgainOncePerLoss) {
  connect_and_send(4);
  peer_sends(selective_nak(Psn(200), {201}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{200}));
  peer_sends(selective_nak(Psn(200), {201, 202}));
  peer_sends(selective_nak(Psn(200), {201, 202, 203}));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(count(Counter::kPacketSequenceError), 1u);
}

// PSN 204 left after the repetition of 200, and arrived before it.
TEST_F(RcSelectiveRequester, TakesARepetitionForLostWhenAPacketBehindItArrived) {
  connect_and_send(4);
  peer_sends(selective_nak(Psn(200), {201}));
  post_writes(2);
  peer_sends(selective_nak(Psn(200), {201, 202, 203}));
  EXPECT_THAT(sent(), IsEmpty());
  peer_sends(selective_nak(Psn(200), {201, 202, 203, 204}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{200}));
  peer_sends(selective_nak(Psn(200), {201, 202, 203, 204, 205}));
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(RcSelectiveRequester, FindsAFurtherLossBesideOneThatIsOnItsWayAgain) {
  connect_and_send(6);
  peer_sends(selective_nak(Psn(200), {201}));
  sent();
  peer_sends(selective_nak(Psn(200), {201, 203}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{202}));
}

TEST_F(RcSelectiveRequester, LeavesOutWhatCameAfterAll) {
  connect_and_send(4);
  arrives(selective_nak(Psn(200), {203}));
  arrives(selective_nak(Psn(200), {202, 203}));
  drain();
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{200, 201}));
}

// The READ was to be asked again, and its answer came while the port was full: then only what is under way is
// left, PSN 202.
TEST_F(RcSelectiveRequester, RunsItsTimerWhenNothingIsLeftToBeSentAgain) {
  connect();
  post(read_wr(7, 2 * kMtu));
  post_writes(2);
  const auto timeout = until_timeout();
  peer_sends(selective_nak(Psn(202), {203}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{200, 202}));
  peer_sends(read_response_first(Psn(200), payload(kMtu)));
  arrives(selective_nak(Psn(202), {203}));
  arrives(read_response_last(Psn(201), payload(kMtu)));
  arrives(selective_nak(Psn(202), {203}));
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(until_timeout(), timeout);
}

TEST_F(RcSelectiveRequester, SendsEverythingAgainOnceWhenThePeerHoldsNothing) {
  connect_and_send(3);
  peer_sends(selective_nak(Psn(200), {}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{200, 201, 202}));
  peer_sends(selective_nak(Psn(200), {}));
  EXPECT_THAT(sent(), IsEmpty());
}

// The network has doubled the NAK, and brings between the two the answer to a READ that the peer executed
// before.
TEST_F(RcSelectiveRequester, SendsEverythingAgainOnceThoughAnEarlierAnswerCame) {
  connect();
  post(read_wr(7, 10));
  post_writes(2);
  peer_sends(selective_nak(Psn(201), {}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{200, 201, 202}));
  peer_sends(read_response_only(Psn(200), payload(10)));
  peer_sends(selective_nak(Psn(201), {}));
  EXPECT_THAT(sent(), IsEmpty());
  peer_sends(ack(Psn(201), 2));
  peer_sends(selective_nak(Psn(202), {}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{202})) << "this one is news";
}

TEST_F(RcSelectiveRequester, TakesNothingFromAnOldNak) {
  connect_and_send(6);
  peer_sends(selective_nak(Psn(202), {204}));
  sent();
  peer_sends(selective_nak(Psn(201), {202, 203}));
  EXPECT_THAT(sent(), IsEmpty());
  peer_sends(selective_nak(Psn(202), {204, 205}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(count(Counter::kPacketSequenceError), 1u);
}

// A READ waits for its answer, so the old NAK is not older than everything outstanding. Its bitmap counts
// from another PSN: if it counted from the last NAK's, it would say that 205 is held.
TEST_F(RcSelectiveRequester, SendsAgainWhatAnOldNakOnlySeemsToHold) {
  connect();
  post(read_wr(1, 10));
  post_writes(5);
  peer_sends(selective_nak(Psn(202), {203, 204}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{200, 202}));
  post_writes(1);
  peer_sends(selective_nak(Psn(201), {203, 204}));
  EXPECT_THAT(sent(), IsEmpty());
  peer_sends(selective_nak(Psn(202), {203, 204, 206}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{202, 205}));
}

TEST_F(RcSelectiveRequester, SendsAgainThePieceOfAReadThatThePeerDoesNotHold) {
  config_.window_packets = 4;
  connect();
  post(read_wr(1, 4 * kMtu));
  post_writes(1);
  peer_sends(selective_nak(Psn(200), {202}));
  EXPECT_EQ(sent_psns(), std::vector<std::uint32_t>{200});
  peer_sends(read_responses(Psn(200), payload(2 * kMtu), kMtu));
  peer_sends(selective_nak(Psn(202), {204}, 1));
  EXPECT_EQ(sent_psns(), std::vector<std::uint32_t>{202});
}

// Only SENDs and WRITEs that the peer holds make room in the window.
TEST_F(RcSelectiveRequester, SendsNothingMoreBecauseThePeerHoldsAPieceOfARead) {
  config_.window_packets = 4;
  connect();
  post(read_wr(1, 4 * kMtu));
  post_writes(5);
  peer_sends(selective_nak(Psn(200), {202}));
  EXPECT_EQ(sent_psns(), std::vector<std::uint32_t>{200});
}

// Holding a packet is no promise.
TEST_F(RcSelectiveRequester, SendsEverythingAgainWhenTheAckTimerRunsOut) {
  connect_and_send(4);
  peer_sends(selective_nak(Psn(201), {202}));
  sent();
  pass_to_timeout();
  EXPECT_EQ(sent_psns(), std::vector<std::uint32_t>{201});
  peer_sends(ack(Psn(201), 2));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{202, 203}));
  EXPECT_EQ(count(Counter::kLocalAckTimeout), 1u);
}

// The RNR NAK refused a copy: the peer had the SEND by then, and has begun to answer the READ after it.
TEST_F(RcSelectiveRequester, AsksAfterAnRnrNakForNoReadThatIsBeingAnswered) {
  connect();
  post(send_wr(1, 10));
  post(read_wr(2, 2 * kMtu));
  const auto timeout = until_timeout();
  peer_sends(rnr_nak(1, Psn(200)));
  peer_sends(read_response_first(Psn(201), payload(kMtu)));
  sent();
  pass_to_timeout();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(until_timeout(), timeout);
  pass_to_timeout();
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(202), kMtu, kShared + kMtu)));
}

// The READ was the last request that the ACK timer sent again. It was taken for lost again, and its answer
// comes before it leaves.
TEST_F(RcSelectiveRequester, AsksAfterTheAckTimerForNoReadThatIsBeingAnswered) {
  connect_and_send(1);
  post(read_wr(1, 3 * kMtu));
  sent();
  pass_to_timeout();
  sent();
  peer_sends(ack(Psn(200), 1));
  EXPECT_EQ(sent_psns(), std::vector<std::uint32_t>{201});
  post_writes(1);
  arrives(selective_nak(Psn(201), {204}));
  arrives(read_response_first(Psn(201), payload(kMtu)));
  drain();
  EXPECT_THAT(sent(), IsEmpty());
}

// The peer answers the packet that goes first with what it holds.
TEST_F(RcSelectiveRequester, SendsAfterTheAckTimerOnlyWhatThePeerStillDoesNotHold) {
  connect_and_send(5);
  pass_to_timeout();
  EXPECT_EQ(sent_psns(), std::vector<std::uint32_t>{200});
  peer_sends(selective_nak(Psn(201), {202}, 1));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{201, 203, 204}));
}

TEST_F(RcSelectiveRequester, SendsAgainAfterAnRnrNakWhatThePeerDoesNotHold) {
  connect();
  post({send_wr(1, 10), send_wr(2, 10), send_wr(3, 10), send_wr(4, 10)});
  sent();
  peer_sends(rnr_nak(1, Psn(200)));
  peer_sends(selective_nak(Psn(200), {202}));
  EXPECT_THAT(sent(), IsEmpty());
  pass(std::chrono::microseconds(10));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{200, 201, 203}));
}

TEST_F(RcSelectiveRequester, CountsWhatThePeerHoldsOutOfTheWindow) {
  config_.window_packets = 4;
  connect();
  post_writes(10);  // four of them leave
  peer_sends(selective_nak(Psn(200), {201, 202, 203}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{200, 204, 205, 206}));
}

TEST_F(RcSelectiveRequester, LeavesNotMoreUnacknowledgedThanThePeerCanHold) {
  config_.window_packets = 1000;
  config_.path_mtu = PathMtu::k256;
  connect();
  post({write_wr(1, 200 * 256), write_wr(2, 200 * 256)});
  EXPECT_THAT(sent(), SizeIs(256));
  peer_sends(selective_nak(Psn(200), {300}));
  EXPECT_THAT(sent(), SizeIs(100));  // 200 to 299
}

TEST_F(RcSelectiveRequester, SendsALostReadRequestAgain) {
  connect();
  post({write_wr(1, 10), read_wr(2, 2000), write_wr(3, 10)});
  const auto first = sent();
  peer_sends(selective_nak(Psn(201), {203}, 1));
  EXPECT_THAT(sent(), ElementsAre(first[1]));
}

TEST_F(RcSelectiveRequester, AsksNotAgainForAReadWhoseRequestThePeerHolds) {
  connect();
  post({write_wr(1, 10), read_wr(2, 2000), write_wr(3, 10)});
  const auto first = sent();
  peer_sends(selective_nak(Psn(200), {201, 203}));
  EXPECT_THAT(sent(), ElementsAre(first[0]));
}

// The WRITE was executed, which the response to the second READ says; the second READ is asked again, as with
// go-back-N.
TEST_F(RcSelectiveRequester, AsksAgainForAnswersThatWereLostAndSendsNothingElse) {
  connect();
  post({read_wr(1, 2000), write_wr(2, 10), read_wr(3, 10)});
  const auto first = sent();
  peer_sends(read_response_first(Psn(200), pattern(kShared.address, kMtu)));
  peer_sends(read_response_only(Psn(203), pattern(kShared.address, 10), 3));
  const auto again = sent();
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_EQ(again[0].psn, Psn(201));
  EXPECT_EQ(again[0].length, 2000 - kMtu);
  EXPECT_EQ(again[1], first[2]);
}

// The peer held the last packet, refused it for lack of a receive, and the RNR NAK was lost. We requested an
// answer again meanwhile, but the last packet was not sent again.
TEST_F(RcSelectiveRequester, SendsAgainWhatIsNotHeldAnyMoreWhileItWaitsForAnAnswer) {
  connect();
  post({read_wr(1, 10), write_wr(2, 10), write_wr(3, 10)});
  const auto first = sent();
  peer_sends(selective_nak(Psn(201), {202}));
  EXPECT_THAT(sent(), ElementsAre(first[0], first[1]));
  peer_sends(selective_nak(Psn(202), {}));
  EXPECT_THAT(sent(), ElementsAre(first[2]));
}

TEST_F(RcSelectiveRequester, WorksAcross2To24) {
  config_.send_psn = Psn(0xfffffe);
  connect_and_send(5);
  peer_sends(selective_nak(Psn(0xfffffe), {0xffffff, 0x1000001}));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{0xfffffe, 0}));
}

TEST_F(RcSelectiveRequester, GivesUpOnAPeerThatHoldsTheSameForEver) {
  config_.retry_count = 2;
  connect_and_send(3);
  for (int i = 0; i < 3 && endpoint_.state() == QpState::kReadyToSend; ++i) {
    peer_sends(selective_nak(Psn(200), {201, 202}));
    if (endpoint_.state() == QpState::kReadyToSend) pass_to_timeout();
  }
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

// Nine losses in a row are found one by one; the peer is alive.
TEST_F(RcSelectiveRequester, TakesEachFurtherHeldPacketForASignOfLife) {
  config_.retry_count = 1;
  connect_and_send(20);
  std::uint32_t psn = 201;
  for (; psn < 219; psn += 2) {
    arrives(selective_nak(Psn(200), {psn}));
    drain();
  }
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  EXPECT_EQ(count(Counter::kRetryExceeded), 0u);
}

TEST_F(RcSelectiveRequester, TakesNoNoticeOfAMalformedNak) {
  connect_and_send(4);
  QpPacket cut = selective_nak(Psn(201), {202});
  cut.payload.resize(28);
  peer_sends(cut);
  peer_sends(selective_nak(Psn(201), {202}).with_syndrome(0x1f));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_EQ(count(Counter::kUnexpectedAcknowledge), 2u);
  pass_to_timeout();
  EXPECT_EQ(sent_psns(), std::vector<std::uint32_t>{200});
  peer_sends(ack(Psn(200), 1));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{201, 202, 203}));
}

TEST_F(RcSelectiveRequester, UnderstandsNothingOfItWithGoBackN) {
  config_.recovery = Recovery::kGoBackN;
  connect_and_send(4);
  peer_sends(selective_nak(Psn(201), {202}));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_EQ(count(Counter::kUnexpectedAcknowledge), 1u);
}

// A NAK of the ordinary form says nothing of what is held.
TEST_F(RcSelectiveRequester, GoesBackAfterAnOrdinarySequenceNak) {
  connect_and_send(3);
  peer_sends(nak(Nak::kSequenceError, Psn(201), 1));
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{201, 202}));
}

}  // namespace
}  // namespace urnic::transport::test
