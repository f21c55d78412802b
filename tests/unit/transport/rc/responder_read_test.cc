// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// READs at the responder: responses, their order, duplicates (facts 26 and 28).
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RcResponderRead : public RcTest {
 protected:
  static Bytes shared_pattern(std::uint64_t offset, std::size_t size) {
    return pattern(kShared.address + offset, size);
  }
};

// Fact 28: AETH in FIRST, LAST and ONLY; PSNs count on from the request's.
TEST_F(RcResponderRead, NumbersTheResponsesFromTheRequestOn) {
  connect();
  peer_sends(read_request(Psn(100), 3000));
  EXPECT_THAT(sent(), ElementsAre(read_response_first(Psn(100), shared_pattern(0, 1024), 1),
                                  read_response_middle(Psn(101), shared_pattern(1024, 1024)),
                                  read_response_last(Psn(102), shared_pattern(2048, 952), 1)));
}

TEST_F(RcResponderRead, NumbersTheResponsesAcross2To24) {
  config_.receive_psn = Psn(0xfffffe);
  connect();
  peer_sends(read_request(Psn(0xfffffe), 4096));
  EXPECT_EQ(sent(), read_responses(Psn(0xfffffe), shared_pattern(0, 4096), kMtu, 1));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(2));
}

// Memory is read when the response is sent, not when the request arrives.
TEST_F(RcResponderRead, ReadsMemoryWhenItSends) {
  connect();
  arrives(read_request(Psn(100), 10));
  dma_.write(to_integer(kShared.rkey), kShared.address, payload(10));
  drain();
  EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(100), payload(10), 1)));
}

TEST_F(RcResponderRead, AnswersSeveralReadsInOrder) {
  connect();
  peer_sends({read_request(Psn(100), 2000), read_request(Psn(102), 0), read_request(Psn(103), 5)});
  EXPECT_THAT(sent(), ElementsAre(read_response_first(Psn(100), shared_pattern(0, 1024), 1),
                                  read_response_last(Psn(101), shared_pattern(1024, 976), 1),
                                  read_response_only(Psn(102), {}, 2),
                                  read_response_only(Psn(103), shared_pattern(0, 5), 3)));
}

TEST_F(RcResponderRead, AcknowledgesASendOnlyAfterTheResponsesOfAnEarlierRead) {
  connect();
  post_receives({1});
  peer_sends({read_request(Psn(100), 2000), send_only(Psn(102), payload(10))});
  EXPECT_THAT(sent(),
              ElementsAre(read_response_first(Psn(100), shared_pattern(0, 1024), 1),
                          read_response_last(Psn(101), shared_pattern(1024, 976), 1), ack(Psn(102), 2)));
}

TEST_F(RcResponderRead, RefusesABadRequestOnlyAfterTheResponsesOfAnEarlierRead) {
  connect();
  peer_sends({read_request(Psn(100), 2000), write_only(Psn(102), payload(10)).with_rkey(Rkey{0xbad})});
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_EQ(slice(packets, 0, 2), read_responses(Psn(100), shared_pattern(0, 2000), kMtu, 1));
  EXPECT_EQ(packets[2], nak(Nak::kRemoteAccess, Psn(102), 1));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

TEST_F(RcResponderRead, NaksAGapOnlyAfterTheResponsesOfAnEarlierRead) {
  connect();
  peer_sends({read_request(Psn(100), 2000), write_only(Psn(103), payload(10))});
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_EQ(slice(packets, 0, 2), read_responses(Psn(100), shared_pattern(0, 2000), kMtu, 1));
  EXPECT_EQ(packets[2], nak(Nak::kSequenceError, Psn(102), 1));
}

TEST_F(RcResponderRead, TakesAsManyUnansweredReadsAsItHasResources) {
  config_.max_responder_resources = 2;
  connect();
  peer_sends({read_request(Psn(100), 1), read_request(Psn(101), 1)});
  EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(100), shared_pattern(0, 1), 1),
                                  read_response_only(Psn(101), shared_pattern(0, 1), 2)));
}

TEST_F(RcResponderRead, RefusesMoreUnansweredReadsThanItHasResources) {
  config_.max_responder_resources = 2;
  connect();
  peer_sends({read_request(Psn(100), 1), read_request(Psn(101), 1), read_request(Psn(102), 1)});
  const auto packets = sent();
  ASSERT_FALSE(packets.empty());
  EXPECT_EQ(packets.back().with_syndrome(0).psn, Psn(102));
  EXPECT_EQ(packets.back().syndrome, to_integer(Nak::kInvalidRequest));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

/// As many READs of one byte each, from this PSN on.
std::vector<QpPacket> single_reads(std::uint32_t first, std::uint32_t count) {
  std::vector<QpPacket> reads;
  for (std::uint32_t i = 0; i < count; ++i) reads.push_back(read_request(Psn(first + i), 1));
  return reads;
}

TEST_F(RcResponderRead, TakesAHundredAndTwentyEightUnansweredReadsAtOnce) {
  config_.max_responder_resources = 128;
  connect();
  for (const std::uint32_t first : {100u, 228u}) {  // the second time in the places of the first ones
    peer_sends(single_reads(first, 128));
    const auto packets = sent();
    ASSERT_EQ(packets.size(), 128u);
    for (std::uint32_t i = 0; i < 128; ++i) {
      EXPECT_EQ(packets[i], read_response_only(Psn(first + i), shared_pattern(0, 1), first - 100 + i + 1));
    }
  }
  // The peer can request all of the last 128 again.
  peer_sends(single_reads(228, 128));
  const auto again = sent();
  ASSERT_EQ(again.size(), 128u);
  EXPECT_EQ(again.front().psn, Psn(228));
  EXPECT_EQ(again.back().psn, Psn(355));
}

TEST_F(RcResponderRead, RefusesOneReadMoreThanAHundredAndTwentyEight) {
  config_.max_responder_resources = 128;
  connect();
  peer_sends(single_reads(100, 129));
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 129u);
  EXPECT_EQ(packets[127].psn, Psn(227));
  EXPECT_EQ(packets.back().syndrome, to_integer(Nak::kInvalidRequest));
}

// The repeat of an old READ is answered before the rest of a newer one, which then starts over.
TEST_F(RcResponderRead, GoesBackToARepeatBeforeItGoesOn) {
  config_.max_responder_resources = 128;
  connect();
  peer_sends(single_reads(100, 3));
  sent();
  arrives(read_request(Psn(103), 2000));
  ASSERT_EQ(poll_one()->psn, Psn(103));
  peer_sends(read_request(Psn(101), 1));
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_EQ(packets[0].psn, Psn(101));
  EXPECT_EQ(slice(packets, 1, 2), read_responses(Psn(103), shared_pattern(0, 2000), kMtu, 4));
}

TEST_F(RcResponderRead, TakesAnyNumberOfReadsOneAfterTheOther) {
  config_.max_responder_resources = 1;
  connect();
  for (std::uint32_t i = 0; i < 20; ++i) {
    peer_sends(read_request(Psn(100 + i), 1));
    EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(100 + i), shared_pattern(0, 1), i + 1)));
  }
}

TEST_F(RcResponderRead, RefusesAnyReadWithoutResources) {
  config_.max_responder_resources = 0;
  connect();
  peer_sends(read_request(Psn(100), 1));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, Psn(100), 0)));
}

class RcResponderResources : public RcResponderRead {
 protected:
  /// From SQD to SQD, as modify_qp has it.
  void change_resources(std::uint8_t resources) {
    endpoint_.to_send_queue_drained(config_);
    config_.max_responder_resources = resources;
    endpoint_.update(config_);
  }
};

TEST_F(RcResponderResources, AnswerAllThatWasTakenBeforeTheyBecameFewer) {
  config_.max_responder_resources = 3;
  connect();
  for (std::uint32_t i = 0; i < 3; ++i) arrives(read_request(Psn(100 + i), 1));
  ASSERT_TRUE(poll_one());
  change_resources(1);
  arrives(read_request(Psn(101), 1));  // again
  drain();
  EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(101), shared_pattern(0, 1), 2),
                                  read_response_only(Psn(102), shared_pattern(0, 1), 3)));
  for (std::uint32_t i = 3; i < 9; ++i) {
    peer_sends(read_request(Psn(100 + i), 1));
    EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(100 + i), shared_pattern(0, 1), i + 1)));
  }
  peer_sends({read_request(Psn(109), 1), read_request(Psn(110), 1)});
  EXPECT_EQ(sent().back(), nak(Nak::kInvalidRequest, Psn(110), 10));
}

TEST_F(RcResponderResources, AreFullWhileAsManyAsTheyAreNowWait) {
  config_.max_responder_resources = 3;
  connect();
  for (std::uint32_t i = 0; i < 3; ++i) arrives(read_request(Psn(100 + i), 1));
  change_resources(2);
  ASSERT_TRUE(poll_one());
  arrives(read_request(Psn(103), 1));
  drain();
  EXPECT_EQ(sent().back(), nak(Nak::kInvalidRequest, Psn(103), 3));
}

TEST_F(RcResponderResources, GrowInTheMiddleOfAResponse) {
  config_.max_responder_resources = 1;
  connect();
  arrives(read_request(Psn(100), 2000));
  EXPECT_EQ(poll_one(), read_responses(Psn(100), shared_pattern(0, 2000), kMtu, 1)[0]);
  change_resources(2);
  arrives(read_request(Psn(102), 10));
  EXPECT_EQ(poll_one(), read_responses(Psn(100), shared_pattern(0, 2000), kMtu, 1)[1]);
  EXPECT_EQ(poll_one(), read_response_only(Psn(102), shared_pattern(0, 10), 2));
}

TEST_F(RcResponderResources, CanBecomeNone) {
  config_.max_responder_resources = 2;
  connect();
  peer_sends(read_request(Psn(100), 1));
  sent();
  change_resources(0);
  peer_sends(read_request(Psn(101), 1));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, Psn(101), 1)));
}

TEST_F(RcResponderRead, HasAPendingResponseUntilTheLastOneIsSent) {
  connect();
  EXPECT_FALSE(endpoint_.has_pending_response());
  arrives(read_request(Psn(100), 2000));
  EXPECT_TRUE(endpoint_.has_pending_response());
  poll_one();
  EXPECT_TRUE(endpoint_.has_pending_response());
  poll_one();
  EXPECT_FALSE(endpoint_.has_pending_response());
}

class RcResponderDuplicateRead : public RcResponderRead {
 protected:
  /// A READ of 4000 bytes with PSNs 100 to 103 was answered.
  RcResponderDuplicateRead() {
    connect();
    peer_sends(read_request(Psn(100), 4000));
    sent();
  }
};

// Fact 26.
TEST_F(RcResponderDuplicateRead, IsExecutedAgain) {
  peer_sends(read_request(Psn(100), 4000));
  EXPECT_EQ(sent(), read_responses(Psn(100), shared_pattern(0, 4000), kMtu, 1));
  EXPECT_EQ(count(Counter::kDuplicateRequest), 1u);
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(104));
}

// Fact 26.
TEST_F(RcResponderDuplicateRead, ReadsMemoryAfresh) {
  dma_.write(to_integer(kShared.rkey), kShared.address, payload(4000));
  peer_sends(read_request(Psn(100), 4000));
  EXPECT_EQ(sent(), read_responses(Psn(100), payload(4000), kMtu, 1));
}

// Fact 26: PSN + n, address + n x PMTU, length reduced; opcodes begin again with FIRST.
TEST_F(RcResponderDuplicateRead, IsResumedPartWay) {
  peer_sends(read_request(Psn(101), 2976, kShared + 1024));
  EXPECT_EQ(sent(), read_responses(Psn(101), shared_pattern(1024, 2976), kMtu, 1));
}

// Fact 26: ... or with ONLY.
TEST_F(RcResponderDuplicateRead, IsResumedAtItsLastPacket) {
  peer_sends(read_request(Psn(103), 928, kShared + 3072));
  EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(103), shared_pattern(3072, 928), 1)));
}

// Fact 26: "a subset of the original (later start, shorter)".
TEST_F(RcResponderDuplicateRead, MayBeShorterThanTheOriginal) {
  peer_sends(read_request(Psn(100), 1000));
  EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(100), shared_pattern(0, 1000), 1)));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(104));
}

TEST_F(RcResponderDuplicateRead, IsDroppedWhenItStartsBeforeTheOriginal) {
  peer_sends(write_only(Psn(104), payload(1), kShared + 0x8000));
  sent();
  peer_sends(read_request(Psn(99), 1024));
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(RcResponderDuplicateRead, IsDroppedWhenItsAddressIsBelowTheOriginal) {
  peer_sends(read_request(Psn(100), 100, {.address = kShared.address - 1, .rkey = kShared.rkey}));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcResponderDuplicateRead, IsDroppedWhenItEndsBehindTheOriginal) {
  peer_sends(read_request(Psn(100), 4001));
  peer_sends(read_request(Psn(101), 2977, kShared + 1024));
  peer_sends(read_request(Psn(103), 929, kShared + 3072));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcResponderDuplicateRead, IsDroppedWhenItsLengthIsAbsurd) {
  peer_sends(read_request(Psn(101), 0xffffffff, kShared + 1024));
  peer_sends(read_request(Psn(100), 0x80000001));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcResponderDuplicateRead, IsDroppedWhenItsKeyIsAnother) {
  const Rkey other{0xb1};
  dma_.add_region({.key = to_integer(other),
                   .address = kShared.address,
                   .length = kRegionBytes,
                   .pd = kPd,
                   .access = Access::kRemoteRead});
  peer_sends(read_request(Psn(100), 4000).with_rkey(other));
  EXPECT_THAT(sent(), IsEmpty());
}

// Its bytes are inside the original's, its PSNs are not: they belong to the next request.
TEST_F(RcResponderDuplicateRead, IsDroppedWhenItNeedsPsnsBehindTheOriginals) {
  peer_sends(read_request(Psn(103), 1025));
  peer_sends(read_request(Psn(102), 4000));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// Fact 27: not found, no answer.
TEST_F(RcResponderDuplicateRead, IsDroppedWhenItWasNoReadAtFirst) {
  peer_sends(write_only(Psn(104), payload(1)));
  sent();
  peer_sends(read_request(Psn(104), 1));
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(RcResponderDuplicateRead, IsFoundAmongLaterReads) {
  peer_sends({read_request(Psn(104), 10, kShared + 100), read_request(Psn(105), 10, kShared + 200),
              read_request(Psn(106), 10, kShared + 300)});
  sent();
  peer_sends(read_request(Psn(105), 10, kShared + 200));
  EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(105), shared_pattern(200, 10), 4)));
}

// A requester goes back to its oldest READ and repeats everything from there.
TEST_F(RcResponderDuplicateRead, IsAnsweredWithTheOnesBehindIt) {
  peer_sends({read_request(Psn(104), 10), write_only(Psn(105), payload(1), kShared + 0x8000)});
  sent();
  peer_sends({read_request(Psn(103), 928, kShared + 3072), read_request(Psn(104), 10),
              write_only(Psn(105), payload(1), kShared + 0x8000)});
  EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(103), shared_pattern(3072, 928), 3),
                                  read_response_only(Psn(104), shared_pattern(0, 10), 3), ack(Psn(105), 3)));
}

TEST_F(RcResponderDuplicateRead, IsFoundAcross2To24) {
  endpoint_.reset();
  config_.receive_psn = Psn(0xfffffe);
  connect();
  peer_sends(read_request(Psn(0xfffffe), 4000));
  sent();
  peer_sends(read_request(Psn(0), 1952, kShared + 2048));
  EXPECT_EQ(sent(), read_responses(Psn(0), shared_pattern(2048, 1952), kMtu, 1));
}

TEST_F(RcResponderDuplicateRead, OfAnEmptyReadIsAnsweredAgain) {
  peer_sends(read_request(Psn(104), 0));
  sent();
  peer_sends(read_request(Psn(104), 0));
  EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(104), {}, 2)));
}

// The answer of the original is still under way when its duplicate arrives.
TEST_F(RcResponderDuplicateRead, ThatArrivesAmidTheAnswerLeadsToACompleteAnswer) {
  arrives(read_request(Psn(104), 3000));
  poll_one();
  arrives(read_request(Psn(104), 3000));
  drain();
  const auto packets = sent();
  ASSERT_GE(packets.size(), 2u);
  const auto whole = read_responses(Psn(104), shared_pattern(0, 3000), kMtu, 2);
  EXPECT_EQ(packets.back(), whole.back());
}

// A requester that waits for the answer is told (as by rdma_rxe). But it may have all it needs, and have told
// the program here, which then deregistered the region: such a late duplicate must not end the connection.
TEST_F(RcResponderDuplicateRead, IsRefusedWithoutEndWhenTheRegionHasGone) {
  dma_.remove_region(to_integer(kShared.rkey));
  peer_sends(read_request(Psn(100), 4000));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 1)));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// A slow peer asked twice, took the answer to the first request and went on: to it only one READ is
// outstanding.
TEST_F(RcResponderDuplicateRead, DoesNotTakeThePlaceOfANewRead) {
  endpoint_.reset();
  config_.max_responder_resources = 1;
  connect();
  peer_sends(read_request(Psn(100), 10));
  sent();
  peer_sends({read_request(Psn(100), 10), read_request(Psn(101), 20)});
  const auto answers = sent();
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers.back(), read_response_only(Psn(101), shared_pattern(0, 20), 2));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcResponderDuplicateRead, DoesNotTakeThePlaceOfANewReadAmongSeveral) {
  endpoint_.reset();
  config_.max_responder_resources = 2;
  connect();
  peer_sends({read_request(Psn(100), 10), read_request(Psn(101), 20)});
  sent();
  peer_sends({read_request(Psn(100), 10), read_request(Psn(101), 20), read_request(Psn(102), 30)});
  const auto answers = sent();
  ASSERT_GE(answers.size(), 2u);
  EXPECT_EQ(answers[answers.size() - 2].psn, Psn(101));
  EXPECT_EQ(answers.back(), read_response_only(Psn(102), shared_pattern(0, 30), 3));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// Its answer would acknowledge what came before; the peer need not wait for a controller's rate.
TEST_F(RcResponderRead, AcknowledgesWhatCameBeforeAReadThatIsPaced) {
  const congestion::Choice choice{.parameters = congestion::FixedParameters{.rate = 1}};
  config_.congestion = &choice;
  connect();
  post_receives({1});
  peer_sends(read_request(Psn(100), 1024));
  EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(100), shared_pattern(0, 1024), 1)));
  peer_sends({send_only(Psn(101), payload(10)), read_request(Psn(102), 2000)});
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(101), 2)));
  pass(std::chrono::milliseconds(10));
  EXPECT_THAT(sent(), ElementsAre(read_response_first(Psn(102), shared_pattern(0, 1024), 3)));
}

}  // namespace
}  // namespace urnic::transport::test
