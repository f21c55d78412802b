// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Every message in every state: what is answered, what the consumer is told, what state comes next.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/nic/cm/manager_fixture.h"

namespace urnic::nic::cm {
namespace {

/// What a message of the peer does.
struct Row {
  std::string_view message;
  std::vector<Position> positions;
  std::string_view answer;
  std::string_view told;
  std::string_view state;  ///< "": as before
};

// A message that is in no row changes nothing and is not answered. The right columns follow CM.md 3 and
// Linux' ib_cm, with three differences that a peer that lost nothing does not see: a repeated REQ is answered
// by the REP that was sent, or by the same REJ; a REP that comes again before our program is ready is
// answered by MRA; a REP for no connection of ours is rejected, as IBTA requires.
const std::vector<Row>& table() {
  using enum Position;
  static const std::vector<Row> rows = {
      {"REQ", {kReqReceived}, "MRA of REQ", "", ""},
      {"REQ", {kRepSent}, "REP", "", ""},
      {"REQ", {kRequestRejected}, "REJ 28 of REQ", "", ""},
      {"REQ", {kReplyWithdrawn}, "REJ 28 of another", "", ""},
      {"REQ", {kTimewaitPassive}, "REJ 10 of REQ", "", ""},

      {"REP", {kReqSent}, "", "reply", "REP_RCVD"},
      {"REP", {kRepReceived}, "MRA of REP", "", ""},
      {"REP", {kEstablishedActive}, "RTU", "", ""},
      {"REP", {kReplyRejected}, "REJ 28 of REP", "", ""},
      {"REP",
       {kReqReceived, kRepSent, kEstablishedPassive, kDreqSentPassive, kDreqReceivedPassive, kTimewaitPassive,
        kRequestRejected, kReplyWithdrawn, kSidrReqReceived, kSidrAnswered},
       "REJ 6 of REP",
       "",
       ""},

      {"RTU", {kRepSent}, "", "ready", "ESTABLISHED"},

      // Without an ID of the peer, it is for a request of which nothing was heard yet.
      {"REJ of REQ", {kReqSent}, "", "rejected 28", "gone"},
      {"REJ of REP", {kReqSent, kReqReceived, kRepSent, kRepReceived}, "", "rejected 28", "gone"},
      {"REJ of another", {kReqSent, kReqReceived, kRepSent, kRepReceived}, "", "rejected 28", "gone"},
      {"REJ of REP",
       {kEstablishedActive, kEstablishedPassive, kDreqSentActive, kDreqSentPassive},
       "",
       "disconnected",
       "TIMEWAIT"},
      {"REJ of another",
       {kEstablishedActive, kEstablishedPassive, kDreqSentActive, kDreqSentPassive},
       "",
       "disconnected",
       "TIMEWAIT"},

      {"DREQ",
       {kRepSent, kRepReceived, kEstablishedActive, kEstablishedPassive},
       "",
       "disconnect request",
       "DREQ_RCVD"},
      {"DREQ", {kDreqSentActive, kDreqSentPassive}, "DREP", "disconnected", "TIMEWAIT"},
      {"DREQ", {kTimewaitActive, kTimewaitPassive}, "DREP", "", ""},
      {"DREQ", {kReplyRejected, kReplyWithdrawn}, "DREP", "", ""},

      {"DREP", {kDreqSentActive, kDreqSentPassive}, "", "disconnected", "TIMEWAIT"},

      {"SIDR_REQ", {kSidrAnswered}, "SIDR_REP 0", "", ""},
      {"SIDR_REP", {kSidrReqSent}, "", "SIDR reply", "gone"},
  };
  return rows;
}

struct PeerMessage {
  std::string_view name;
  std::function<Message(const Conversation&)> make;
};

const std::vector<PeerMessage>& messages() {
  static const std::vector<PeerMessage> all = {
      {"REQ", [](const Conversation& c) { return c.peer_req(); }},
      {"REP", [](const Conversation& c) { return c.peer_rep(); }},
      {"RTU", [](const Conversation& c) { return c.peer_rtu(); }},
      {"REJ of REQ", [](const Conversation& c) { return c.peer_rej(Answered::kReq); }},
      {"REJ of REP", [](const Conversation& c) { return c.peer_rej(Answered::kRep); }},
      {"REJ of another", [](const Conversation& c) { return c.peer_rej(Answered::kOther); }},
      {"MRA of REQ", [](const Conversation& c) { return c.peer_mra(Answered::kReq); }},
      {"MRA of REP", [](const Conversation& c) { return c.peer_mra(Answered::kRep); }},
      {"DREQ", [](const Conversation& c) { return c.peer_dreq(); }},
      {"DREP", [](const Conversation& c) { return c.peer_drep(); }},
      {"SIDR_REQ", [](const Conversation& c) { return c.peer_sidr_req(); }},
      {"SIDR_REP", [](const Conversation& c) { return c.peer_sidr_rep(); }},
  };
  return all;
}

bool is_sidr(Position position) {
  using enum Position;
  return position == kSidrReqSent || position == kSidrReqReceived || position == kSidrAnswered;
}

/// Whether a message of the peer is about the connection at all: a request that is none of it begins another.
bool is_about(std::string_view message, Position position) {
  if (message == "REQ") return is_passive(position) && !is_sidr(position);
  if (message == "SIDR_REQ") return is_passive(position) && is_sidr(position);
  return true;
}

Row expected(std::string_view message, Position position) {
  for (const Row& row : table()) {
    if (row.message == message && std::count(row.positions.begin(), row.positions.end(), position) > 0)
      return row;
  }
  return {};
}

/// Names an empty text.
std::string or_nothing(std::string_view text) {
  return text.empty() ? "nothing" : std::string(text);
}

TEST(CommunicationManager, AnswersEachMessageAsItsStateDemands) {
  for (const Position position : kAllPositions) {
    for (const PeerMessage& message : messages()) {
      if (!is_about(message.name, position)) continue;
      SCOPED_TRACE(std::string(message.name) + " in " + std::string(name_of(position)));
      Conversation conversation(position);
      const std::string before = conversation.state();
      conversation.deliver(message.make(conversation));
      const Row row = expected(message.name, position);
      EXPECT_EQ(or_nothing(conversation.sent_text()), or_nothing(row.answer));
      EXPECT_EQ(or_nothing(conversation.told()), or_nothing(row.told));
      EXPECT_EQ(conversation.state(), row.state.empty() ? before : row.state);
    }
  }
}

// A second copy of a message that was taken changes nothing more, and tells the consumer nothing.
TEST(CommunicationManager, TakesEachMessageOnce) {
  for (const Row& row : table()) {
    for (const Position position : row.positions) {
      SCOPED_TRACE(std::string(row.message) + " twice in " + std::string(name_of(position)));
      Conversation conversation(position);
      const auto message =
          std::find_if(messages().begin(), messages().end(),
                       [&](const PeerMessage& candidate) { return candidate.name == row.message; });
      ASSERT_NE(message, messages().end());
      const Message copy = message->make(conversation);
      conversation.deliver(copy);
      const std::string after = conversation.state();
      conversation.told();
      conversation.deliver(copy);
      EXPECT_EQ(conversation.told(), "");
      EXPECT_EQ(conversation.state(), after);
    }
  }
}

// LAP is refused by silence, and there is no APR to a LAP that we never send.
TEST(CommunicationManager, SaysNothingAboutAlternatePaths) {
  for (const Position position : kAllPositions) {
    for (const std::size_t attribute : {0x19u, 0x1au}) {
      SCOPED_TRACE(name_of(position));
      Conversation conversation(position);
      const std::string before = conversation.state();
      MadBytes bytes = write({.transaction_id = 1, .message = conversation.peer_rtu()});
      bytes[17] = static_cast<std::byte>(attribute);
      conversation.deliver_bytes(bytes);
      EXPECT_EQ(conversation.sent_text(), "");
      EXPECT_EQ(conversation.told(), "");
      EXPECT_EQ(conversation.state(), before);
    }
  }
}

// A station can neither end nor make the connections of others. What it is told is about itself.
TEST(CommunicationManager, TakesMessagesOfAConnectionFromItsPeerOnly) {
  for (const Position position : kAllPositions) {
    for (const PeerMessage& message : messages()) {
      if (message.name == "REQ" || message.name == "SIDR_REQ") continue;
      SCOPED_TRACE(std::string(message.name) + " in " + std::string(name_of(position)));
      Conversation conversation(position);
      const std::string before = conversation.state();
      const transport::Time deadline = conversation.manager().next_timeout();
      conversation.deliver_from_stranger(message.make(conversation));
      EXPECT_EQ(conversation.told(), "");
      EXPECT_EQ(conversation.state(), before);
      EXPECT_EQ(conversation.manager().next_timeout(), deadline);
    }
  }
}

// Both IDs must be the connection's, as in Linux: one of them may be left over from an earlier connection.
TEST(CommunicationManager, TakesMessagesOfAConnectionWithBothItsIdsOnly) {
  using enum Position;
  const CommunicationId other{0x901};
  for (const Position position : {kRepSent, kRepReceived, kEstablishedActive, kEstablishedPassive,
                                  kDreqSentActive, kDreqSentPassive, kTimewaitActive, kTimewaitPassive}) {
    Conversation conversation(position);
    Rtu rtu = conversation.peer_rtu();
    Rej rej = conversation.peer_rej(Answered::kOther);
    Dreq dreq = conversation.peer_dreq();
    Drep drep = conversation.peer_drep();
    Mra mra = conversation.peer_mra(Answered::kRep);
    rtu.local_id = rej.local_id = dreq.local_id = drep.local_id = mra.local_id = other;
    for (const Message& message : std::vector<Message>{rtu, rej, dreq, drep, mra}) {
      SCOPED_TRACE(brief({.message = message}) + " in " + std::string(name_of(position)));
      const std::string before = conversation.state();
      const transport::Time deadline = conversation.manager().next_timeout();
      conversation.deliver(message);
      EXPECT_EQ(conversation.told(), "");
      EXPECT_EQ(conversation.state(), before);
      EXPECT_EQ(conversation.manager().next_timeout(), deadline);
    }
  }
}

TEST(CommunicationManager, LetsAPeerEndWhatItKnowsNothingOf) {
  Conversation conversation;
  conversation.deliver(Dreq{.local_id = CommunicationId{5}, .remote_id = CommunicationId{6}}, 77);
  const auto sent = conversation.sent();
  ASSERT_EQ(sent.size(), 1u);
  const Drep& drep = std::get<Drep>(sent[0].message);
  EXPECT_EQ(drep.local_id, CommunicationId{6});
  EXPECT_EQ(drep.remote_id, CommunicationId{5});
  EXPECT_EQ(sent[0].transaction_id, 77u);
}

TEST(CommunicationManager, RejectsAReplyToNothing) {
  Conversation conversation;
  conversation.deliver(Rep{.local_id = CommunicationId{5}, .remote_id = CommunicationId{6}}, 77);
  const auto sent = conversation.sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(brief(sent[0]), "REJ 6 of REP");
  const Rej& rej = std::get<Rej>(sent[0].message);
  EXPECT_EQ(rej.local_id, CommunicationId{6});
  EXPECT_EQ(rej.remote_id, CommunicationId{5});
  EXPECT_EQ(sent[0].transaction_id, 77u);
}

TEST(CommunicationManager, SaysNothingToOtherMessagesAboutNothing) {
  for (const PeerMessage& message : messages()) {
    if (message.name == "REQ" || message.name == "SIDR_REQ" || message.name == "REP" ||
        message.name == "DREQ") {
      continue;
    }
    Conversation conversation;
    conversation.deliver(message.make(conversation));
    EXPECT_EQ(conversation.sent_text(), "") << message.name;
    EXPECT_EQ(conversation.told(), "") << message.name;
  }
}

}  // namespace
}  // namespace urnic::nic::cm
