// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PSNs at the responder: expected, past and future ones, for each kind of request.
#include <functional>
#include <string>

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A request of one packet, and what the responder answers.
struct Kind {
  const char* name;
  QpPacket (*request)(Psn psn);
  QpPacket (*answer)(Psn psn, std::uint32_t msn);
};

const Kind kSend{"Send", [](Psn psn) { return send_only(psn, payload(10)); },
                 [](Psn psn, std::uint32_t msn) { return ack(psn, msn); }};
const Kind kWrite{"Write", [](Psn psn) { return write_only(psn, payload(10)); },
                  [](Psn psn, std::uint32_t msn) { return ack(psn, msn); }};
const Kind kRead{
    "Read", [](Psn psn) { return read_request(psn, 10); },
    [](Psn psn, std::uint32_t msn) { return read_response_only(psn, pattern(kShared.address, 10), msn); }};

class RcResponderSequence : public RcTest, public ::testing::WithParamInterface<Kind> {
 protected:
  void connect_expecting(Psn psn) {
    config_.receive_psn = psn;
    connect();
    post_receives({1, 2, 3, 4});
  }
  static QpPacket request(Psn psn) { return GetParam().request(psn); }
  static QpPacket answer(Psn psn, std::uint32_t msn) { return GetParam().answer(psn, msn); }
  bool nothing_was_executed() {
    return shared_memory_is_untouched() && receive_memory_is_untouched() && receive_completions().empty() &&
           !receive_queue_.is_empty();
  }
};

INSTANTIATE_TEST_SUITE_P(, RcResponderSequence, ::testing::Values(kSend, kWrite, kRead),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(RcResponderSequence, ExecutesRequestsInOrder) {
  connect_expecting(Psn(100));

  peer_sends(request(Psn(100)));
  EXPECT_THAT(sent(), ElementsAre(answer(Psn(100), 1)));
  peer_sends(request(Psn(101)));
  EXPECT_THAT(sent(), ElementsAre(answer(Psn(101), 2)));
}

// Fact 22.
TEST_P(RcResponderSequence, NaksAFutureRequestWithTheExpectedPsnAndDoesNotExecuteIt) {
  connect_expecting(Psn(100));

  peer_sends(request(Psn(101)));

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(100), 0)));
  EXPECT_TRUE(nothing_was_executed());
  EXPECT_EQ(count(Counter::kOutOfSequence), 1u);
  EXPECT_EQ(events_.losses(), 1u);
}

// Fact 22.
TEST_P(RcResponderSequence, IsSilentAfterTheNakUntilTheGapCloses) {
  connect_expecting(Psn(100));
  peer_sends(request(Psn(101)));
  sent();

  peer_sends(request(Psn(102)));
  peer_sends({request(Psn(103)), request(Psn(101))});

  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_TRUE(nothing_was_executed());
}

// Fact 22.
TEST_P(RcResponderSequence, GoesOnWhenTheGapCloses) {
  connect_expecting(Psn(100));
  peer_sends(request(Psn(101)));
  sent();

  peer_sends(request(Psn(100)));
  EXPECT_THAT(sent(), ElementsAre(answer(Psn(100), 1)));
  peer_sends(request(Psn(101)));
  EXPECT_THAT(sent(), ElementsAre(answer(Psn(101), 2)));
}

// Fact 22.
TEST_P(RcResponderSequence, NaksEachGapAnew) {
  connect_expecting(Psn(100));
  peer_sends(request(Psn(101)));
  peer_sends(request(Psn(100)));
  sent();

  peer_sends(request(Psn(102)));

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(101), 1)));
}

// Fact 39.
TEST_P(RcResponderSequence, ExecutesRequestsInOrderAcross2To24) {
  connect_expecting(Psn(0xffffff));

  peer_sends(request(Psn(0xffffff)));
  EXPECT_THAT(sent(), ElementsAre(answer(Psn(0xffffff), 1)));
  peer_sends(request(Psn(0)));
  EXPECT_THAT(sent(), ElementsAre(answer(Psn(0), 2)));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(1));
}

// Fact 39.
TEST_P(RcResponderSequence, NaksAFutureRequestAcross2To24) {
  connect_expecting(Psn(0xffffff));

  peer_sends(request(Psn(0)));

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(0xffffff), 0)));
  EXPECT_TRUE(nothing_was_executed());
}

// Fact 39: the comparison is signed modulo 2^24.
TEST_P(RcResponderSequence, TakesThePsnJustBelowHalfTheCircleAheadForAFutureOne) {
  connect_expecting(Psn(100));

  peer_sends(request(Psn(100 + 0x7fffff)));

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(100), 0)));
}

class RcResponderDuplicate : public RcResponderSequence {};

// READs are another matter: see RcResponderDuplicateRead.
INSTANTIATE_TEST_SUITE_P(, RcResponderDuplicate, ::testing::Values(kSend, kWrite),
                         [](const auto& kind) { return std::string(kind.param.name); });

// Fact 25.
TEST_P(RcResponderDuplicate, AcknowledgesADuplicateWithTheNewestPsn) {
  connect_expecting(Psn(100));
  peer_sends({request(Psn(100)), request(Psn(101)), request(Psn(102))});
  sent();

  peer_sends(request(Psn(100)));

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 3)));
  EXPECT_EQ(count(Counter::kDuplicateRequest), 1u);
  EXPECT_EQ(events_.losses(), 1u);
}

// Fact 25: AckReq or not.
TEST_P(RcResponderDuplicate, AcknowledgesADuplicateThatDoesNotAskForIt) {
  connect_expecting(Psn(100));
  peer_sends(request(Psn(100)));
  sent();

  peer_sends(request(Psn(100)).asking_for_ack(false));

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
}

TEST_P(RcResponderDuplicate, DoesNotExecuteADuplicate) {
  connect_expecting(Psn(101));

  peer_sends(request(Psn(100)));

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 0)));
  EXPECT_TRUE(nothing_was_executed());
}

// Fact 39.
TEST_P(RcResponderDuplicate, TakesAPsnBehind2To24ForADuplicate) {
  connect_expecting(Psn(0));

  peer_sends(request(Psn(0xffffff)));

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(0xffffff), 0)));
  EXPECT_TRUE(nothing_was_executed());
}

// Fact 39.
TEST_P(RcResponderDuplicate, TakesThePsnHalfTheCircleAwayForADuplicate) {
  connect_expecting(Psn(100));

  peer_sends(request(Psn(100 + 0x800000)));

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(99), 0)));
  EXPECT_TRUE(nothing_was_executed());
}

TEST_P(RcResponderDuplicate, AcknowledgesADuplicateWhileAGapIsOpen) {
  connect_expecting(Psn(100));
  peer_sends(request(Psn(100)));
  peer_sends(request(Psn(102)));
  sent();

  peer_sends(request(Psn(100)));

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
}

class RcResponder : public RcTest {};

// A duplicate is not checked further: the original was, and its rights may have changed since.
TEST_F(RcResponder, AcknowledgesADuplicateWriteWhoseKeyIsNoLongerValid) {
  connect();
  peer_sends(write_only(Psn(100), payload(10)));
  sent();
  dma_.remove_region(to_integer(kShared.rkey));

  peer_sends(write_only(Psn(100), payload(10)));

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
}

// Fact 24: go-back-N may restart anywhere, so earlier packets of the message under way come again.
TEST_F(RcResponder, KeepsItsPlaceInAMessageWhenEarlierPacketsComeAgain) {
  connect();
  const Bytes message = payload(3000);
  const auto packets = write_message(Psn(100), message, kMtu);
  peer_sends({packets[0], packets[1]});
  sent();

  peer_sends(packets[0]);
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(101), 0)));
  peer_sends(packets[2]);

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 1)));
  EXPECT_EQ(shared_memory(0, 3000), message);
}

// Fact 24: the packet after a gap inside a WRITE is a MIDDLE without a RETH.
TEST_F(RcResponder, GoesOnInsideAWriteAfterAGap) {
  connect();
  const Bytes message = payload(4000);
  const auto packets = write_message(Psn(100), message, kMtu);
  peer_sends({packets[0], packets[2], packets[3]});
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(101), 0)));

  peer_sends({packets[1], packets[2], packets[3]});

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(103), 1)));
  EXPECT_EQ(shared_memory(0, 4000), message);
}

// Fact 24.
TEST_F(RcResponder, GoesOnInsideASendAfterAGap) {
  connect();
  post_receives({1, 2});
  const Bytes message = payload(4000);
  const auto packets = send_message(Psn(100), message, kMtu);
  peer_sends({packets[0], packets[1], packets[3]});
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(102), 0)));

  peer_sends({packets[2], packets[3]});

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(103), 1)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(receive_memory(0, 4000), message);
}

// A READ takes as many PSNs as its response has packets (fact 28).
TEST_F(RcResponder, ExpectsThePsnBehindTheResponsesOfARead) {
  connect();

  peer_sends(read_request(Psn(100), 3000));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(103));
  sent();

  peer_sends(write_only(Psn(103), payload(1)));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(103), 2)));
}

// The ACK names what came before the READ: the responses speak for themselves (facts 25 and 28).
TEST_F(RcResponder, TakesAPsnInsideTheResponsesOfAReadForADuplicate) {
  connect();
  peer_sends(write_only(Psn(100), {}));
  peer_sends(read_request(Psn(101), 3000));
  sent();

  peer_sends(write_only(Psn(102), payload(1)));

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 2)));
  EXPECT_TRUE(shared_memory_is_untouched());
}

}  // namespace
}  // namespace urnic::transport::test
