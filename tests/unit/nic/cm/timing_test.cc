// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How often and how long the communication manager waits.
#include "nic/cm/timing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/unit/nic/cm/manager_fixture.h"
#include "transport/wire/byte_order.h"

namespace urnic::nic::cm {
namespace {

using namespace std::chrono_literals;
using transport::Duration;
using transport::kNever;

/// 4.096 us x 2^code, worked out once more.
constexpr Duration code(unsigned code) {
  return Duration(4096) * (std::int64_t{1} << code);
}

// What fact 45 says about Linux: 4.3 s, 15 retries; and the packet lifetime of CM.md 2 there and back.
constexpr Duration kOwnAnswerTime = code(20);
constexpr Duration kThereAndBack = 2 * code(16);
constexpr std::size_t kOwnRepeats = 15;

struct Repeated {
  std::string_view what;
  Position position{};
  Duration interval{};
  std::size_t repeats = 0;
  std::string_view last;  ///< sent when the peer has not answered
  std::string_view told;
  std::string_view state;
};

void begin(Conversation& conversation, Position position) {
  using enum Position;
  switch (position) {
    case kReqSent:
      return conversation.request();
    case kSidrReqSent:
      return conversation.sidr_request();
    case kRepSent:
      conversation.go_to(kReqReceived);
      return conversation.manager().accept(conversation.id(), {.local_qp = Conversation::kOwnQp},
                                           conversation.now());
    case kDreqSentActive:
      conversation.go_to(kEstablishedActive);
      break;
    default:
      conversation.go_to(kEstablishedPassive);
  }
  EXPECT_TRUE(conversation.manager().disconnect(conversation.id(), conversation.now()));
}

// Of the passive side, interval and count are those that the peer's REQ asks for.
TEST(CommunicationManagerTime, RepeatsWhatIsNotAnsweredAndGivesUp) {
  const Duration peers = code(Conversation::kPeerResponseTimeout);
  const std::size_t peer_repeats = Conversation::kPeerRetries;
  const Repeated rows[] = {
      {"REQ", Position::kReqSent, kOwnAnswerTime + kThereAndBack, kOwnRepeats, "REJ 4 of another",
       "unanswered", "gone"},
      {"REP", Position::kRepSent, peers, peer_repeats, "REJ 4 of another", "unanswered", "gone"},
      {"DREQ", Position::kDreqSentActive, kOwnAnswerTime + kThereAndBack, kOwnRepeats, "",
       "disconnected without answer", "TIMEWAIT"},
      {"DREQ", Position::kDreqSentPassive, peers, peer_repeats, "", "disconnected without answer",
       "TIMEWAIT"},
      {"SIDR_REQ", Position::kSidrReqSent, kOwnAnswerTime, kOwnRepeats, "", "unanswered", "gone"},
  };
  for (const Repeated& row : rows) {
    SCOPED_TRACE(std::string(name_of(row.position)));
    Conversation conversation;
    begin(conversation, row.position);
    const auto first = conversation.sent();
    ASSERT_EQ(first.size(), 1u);
    EXPECT_EQ(brief(first[0]), row.what);
    for (std::size_t i = 0; i < row.repeats; ++i) {
      conversation.told();
      EXPECT_EQ(conversation.pass_to_timeout(), row.interval) << i;
      const auto again = conversation.sent();
      ASSERT_EQ(again.size(), 1u) << i;
      EXPECT_EQ(write(again[0]), write(first[0])) << i;
      EXPECT_EQ(conversation.told(), "") << i;
    }
    EXPECT_EQ(conversation.manager().counters().value(CounterGroup::kRepeated), row.repeats);
    EXPECT_EQ(conversation.pass_to_timeout(), row.interval);
    EXPECT_EQ(conversation.sent_text(), row.last);
    EXPECT_EQ(conversation.told(), row.told);
    EXPECT_EQ(conversation.state(), row.state);
  }
}

TEST(CommunicationManagerTime, WaitsNoLongerForWhatIsAnswered) {
  using enum Position;
  for (const Position position : {kReqReceived, kRepReceived, kEstablishedActive, kEstablishedPassive,
                                  kDreqReceivedActive, kDreqReceivedPassive, kSidrReqReceived}) {
    Conversation conversation(position);
    EXPECT_EQ(conversation.manager().next_timeout(), kNever) << name_of(position);
  }
}

// "Timeout" names no ID where REP never came: the GUID says who it was (ARI, CM.md 2).
TEST(CommunicationManagerTime, SaysWhoGaveUpInAdditionalInformation) {
  Conversation conversation(Position::kReqSent);
  conversation.pass(200s);
  const auto sent = conversation.sent();
  ASSERT_FALSE(sent.empty());
  const Rej& rej = std::get<Rej>(sent.back().message);
  EXPECT_EQ(rej.reason, RejectReason::kTimeout);
  EXPECT_EQ(rej.local_id, conversation.id());
  EXPECT_EQ(rej.remote_id, CommunicationId{});
  EXPECT_EQ(rej.information_length, 8);
  EXPECT_EQ(transport::wire::load_u64(rej.information, 0), Conversation::kOwnGuid);
}

TEST(CommunicationManagerTime, SaysTheSameWhenTheConsumerGivesUp) {
  Conversation conversation(Position::kReqSent);
  conversation.manager().release(conversation.id(), conversation.now());
  const auto sent = conversation.sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(brief(sent[0]), "REJ 4 of another");
  const Rej& rej = std::get<Rej>(sent[0].message);
  EXPECT_EQ(rej.local_id, conversation.id());
  EXPECT_EQ(transport::wire::load_u64(rej.information, 0), Conversation::kOwnGuid);
  EXPECT_EQ(conversation.state(), "gone");
}

Rej peers_timeout(const Conversation& conversation, std::uint64_t guid) {
  Rej rej = conversation.peer_rej(Answered::kOther, RejectReason::kTimeout);
  rej.remote_id = {};
  rej.information_length = 8;
  transport::wire::store_u64(rej.information, 0, guid);
  return rej;
}

TEST(CommunicationManagerTime, FindsTheRequestOfAPeerThatGaveUpByItsGuid) {
  for (const Position position : {Position::kReqReceived, Position::kRepSent}) {
    Conversation conversation(position);
    const std::string before = conversation.state();
    conversation.deliver(peers_timeout(conversation, Conversation::kPeerGuid + 1));
    EXPECT_EQ(conversation.state(), before);
    conversation.deliver_from_stranger(peers_timeout(conversation, Conversation::kPeerGuid));
    EXPECT_EQ(conversation.state(), before);
    conversation.deliver(peers_timeout(conversation, Conversation::kPeerGuid));
    EXPECT_EQ(conversation.told(), "rejected 4");
    EXPECT_EQ(conversation.state(), "gone");
  }
}

struct Patience {
  Position position{};
  Answered answered{};
  Duration path{};  ///< there and back, as the ACK timeout of the REQ has it
};

// The peer is granted what it asks for and the way; then, the message is repeated as often as before.
TEST(CommunicationManagerTime, IsExtendedByMra) {
  const Patience rows[] = {
      {Position::kReqSent, Answered::kReq, code(Conversation::kOwnAckTimeout)},
      {Position::kRepSent, Answered::kRep, code(Conversation::kPeerAckTimeout)},
  };
  constexpr std::uint8_t kLong = 24;
  for (const Patience& row : rows) {
    SCOPED_TRACE(std::string(name_of(row.position)));
    Conversation conversation(row.position);
    const transport::Time asked = conversation.now();
    conversation.deliver(conversation.peer_mra(row.answered, kLong));
    EXPECT_EQ(conversation.manager().next_timeout(), asked + code(kLong) + row.path);
    conversation.pass(code(kLong));
    EXPECT_EQ(conversation.sent_text(), "");
    conversation.deliver(conversation.peer_mra(row.answered, kLong));
    EXPECT_EQ(conversation.manager().next_timeout(), asked + 2 * code(kLong) + row.path);
    EXPECT_EQ(conversation.told(), "");
    conversation.pass_to_timeout();
    EXPECT_NE(conversation.sent_text(), "");
    EXPECT_NE(conversation.state(), "gone");
  }
}

TEST(CommunicationManagerTime, IsNotExtendedByMraThatIsAboutSomethingElse) {
  const std::pair<Position, Answered> rows[] = {
      {Position::kReqSent, Answered::kRep},          {Position::kRepSent, Answered::kReq},
      {Position::kRepSent, Answered::kOther},        {Position::kDreqSentActive, Answered::kReq},
      {Position::kDreqSentActive, Answered::kRep},   {Position::kDreqSentActive, Answered::kOther},
      {Position::kTimewaitActive, Answered::kOther}, {Position::kSidrReqSent, Answered::kOther}};
  for (const auto& [position, answered] : rows) {
    Conversation conversation(position);
    const transport::Time before = conversation.manager().next_timeout();
    conversation.deliver(conversation.peer_mra(answered, 31));
    EXPECT_EQ(conversation.manager().next_timeout(), before) << name_of(position);
  }
}

// Linux waits as long as the ACK timeout in the REQ: a packet that is still on its way must not meet another
// connection.
TEST(CommunicationManagerTime, KeepsTheQueuePairInTimewaitForTheAckTimeoutOfTheRequest) {
  const std::pair<Position, Duration> rows[] = {
      {Position::kTimewaitActive, code(Conversation::kOwnAckTimeout)},
      {Position::kTimewaitPassive, code(Conversation::kPeerAckTimeout)}};
  for (const auto& [position, duration] : rows) {
    SCOPED_TRACE(std::string(name_of(position)));
    Conversation conversation(position);
    conversation.pass(duration - 1ns);
    EXPECT_EQ(conversation.told(), "");
    conversation.pass(1ns);
    EXPECT_EQ(conversation.told(), "timewait exit");
    EXPECT_EQ(conversation.state(), "gone");
    EXPECT_EQ(conversation.manager().connection_count(), 0u);
  }
}

// The peer repeats its message for as long as an answer may be lost: it gets the same one.
TEST(CommunicationManagerTime, RemembersAnAnswerForAsLongAsThePeerMayAskAgain) {
  for (const Position position : {Position::kRequestRejected, Position::kSidrAnswered}) {
    Conversation conversation(position);
    conversation.pass(2 * (kOwnAnswerTime + kThereAndBack));
    const bool is_sidr = position == Position::kSidrAnswered;
    conversation.deliver(is_sidr ? Message(conversation.peer_sidr_req()) : Message(conversation.peer_req()));
    EXPECT_EQ(conversation.sent_text(), is_sidr ? "SIDR_REP 0" : "REJ 28 of REQ");
    conversation.pass(60s);
    EXPECT_EQ(conversation.manager().connection_count(), 0u);
    EXPECT_EQ(conversation.manager().next_timeout(), kNever);
  }
}

TEST(CommunicationManagerTime, HasNoDeadlineForAPeerThatAsksForNone) {
  Conversation conversation;
  Req req = conversation.peer_req();
  req.local_response_timeout = 0;
  req.max_cm_retries = 0;
  req.path.local_ack_timeout = 0;
  conversation.deliver(req);
  conversation.manager().accept(conversation.consumer().last_request, {}, conversation.now());
  conversation.pass(1s);
  EXPECT_EQ(conversation.sent_text(), "REP, REJ 4 of another");
  EXPECT_EQ(conversation.told(), "request; unanswered");
  EXPECT_EQ(conversation.manager().connection_count(), 0u);
}

}  // namespace
}  // namespace urnic::nic::cm
