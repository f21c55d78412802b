// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the communication manager writes into its messages, which requests it refuses, and how everything
// ends.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "nic/cm/timing.h"
#include "tests/unit/nic/cm/manager_fixture.h"

namespace urnic::nic::cm {
namespace {

using namespace std::chrono_literals;
using transport::kNever;
using transport::QpNumber;
using transport::wire::Gid;

template <typename T>
struct Sent {
  T message{};
  std::uint64_t transaction_id = 0;
  std::string text;
};

/// The one message that was sent; a failure and an empty one when there is another, or more.
template <typename T>
Sent<T> only(const std::vector<Mad>& mads) {
  EXPECT_EQ(mads.size(), 1u);
  if (mads.size() != 1 || !std::holds_alternative<T>(mads[0].message)) {
    ADD_FAILURE() << "another message";
    return {};
  }
  return {.message = std::get<T>(mads[0].message),
          .transaction_id = mads[0].transaction_id,
          .text = brief(mads[0])};
}

// --- What messages say ---

// captures/rxe/rping, frames 1 to 3 and 84, 85: IDs and transaction IDs.
TEST(CommunicationManagerMessages, OfTheActiveSideNameBothSidesAsTheKernelDoes) {
  Conversation conversation;
  conversation.request();
  const auto [req, transaction, text] = only<Req>(conversation.sent());
  EXPECT_EQ(req.local_id, conversation.id());
  EXPECT_EQ(req.local_ca_guid, Conversation::kOwnGuid);
  EXPECT_EQ(req.local_qp, Conversation::kOwnQp);
  EXPECT_EQ(req.remote_response_timeout, 20);
  EXPECT_EQ(req.local_response_timeout, 20);
  EXPECT_EQ(req.max_cm_retries, 15);

  conversation.deliver(conversation.peer_rep(), transaction);
  conversation.manager().ready(conversation.id());
  const auto rtu = only<Rtu>(conversation.sent());
  EXPECT_EQ(rtu.message.local_id, conversation.id());
  EXPECT_EQ(rtu.message.remote_id, Conversation::kPeerId);
  EXPECT_EQ(rtu.transaction_id, transaction);

  EXPECT_TRUE(conversation.manager().disconnect(conversation.id(), conversation.now()));
  const Dreq dreq = only<Dreq>(conversation.sent()).message;
  EXPECT_EQ(dreq.local_id, conversation.id());
  EXPECT_EQ(dreq.remote_id, Conversation::kPeerId);
  EXPECT_EQ(dreq.remote_qp, Conversation::kPeerQp);
}

TEST(CommunicationManagerMessages, OfThePassiveSideNameBothSidesAsTheKernelDoes) {
  Conversation conversation(Position::kReqReceived);
  conversation.manager().accept(conversation.id(), {.local_qp = Conversation::kOwnQp}, conversation.now());
  const auto rep = only<Rep>(conversation.sent());
  EXPECT_EQ(rep.message.local_id, conversation.id());
  EXPECT_EQ(rep.message.remote_id, Conversation::kPeerId);
  EXPECT_EQ(rep.message.local_ca_guid, Conversation::kOwnGuid);
  EXPECT_EQ(rep.message.local_qp, Conversation::kOwnQp);
  EXPECT_EQ(rep.transaction_id, Conversation::kPeerTransaction);

  conversation.deliver(conversation.peer_rtu());
  conversation.deliver(conversation.peer_dreq(), 0x1234);
  EXPECT_TRUE(conversation.manager().disconnect(conversation.id(), conversation.now()));
  const auto drep = only<Drep>(conversation.sent());
  EXPECT_EQ(drep.message.local_id, conversation.id());
  EXPECT_EQ(drep.message.remote_id, Conversation::kPeerId);
  EXPECT_EQ(drep.transaction_id, 0x1234u);
}

// Fact 46: before REP the peer has no ID of ours.
TEST(CommunicationManagerMessages, OfRefusalNameNoIdOfOursInAnswerToARequest) {
  Conversation conversation(Position::kReqReceived);
  conversation.manager().reject(conversation.id(), {.reason = RejectReason::kConsumerDefined},
                                conversation.now());
  auto rej = only<Rej>(conversation.sent());
  EXPECT_EQ(rej.text, "REJ 28 of REQ");
  EXPECT_EQ(rej.message.local_id, CommunicationId{});
  EXPECT_EQ(rej.message.remote_id, Conversation::kPeerId);
  EXPECT_EQ(rej.transaction_id, Conversation::kPeerTransaction);

  Conversation active(Position::kRepReceived);
  active.manager().reject(active.id(), {.reason = RejectReason::kConsumerDefined}, active.now());
  rej = only<Rej>(active.sent());
  EXPECT_EQ(rej.text, "REJ 28 of REP");
  EXPECT_EQ(rej.message.local_id, active.id());
  EXPECT_EQ(rej.message.remote_id, Conversation::kPeerId);
}

// Linux' ib_cm writes the number of an XRC queue pair into another field of REP, and expects it in DREQ.
TEST(CommunicationManagerMessages, OfXrcNameTheQueuePairThatLinuxNames) {
  Conversation conversation(Position::kReqSent);
  Rep rep = conversation.peer_rep();
  rep.local_qp = {};
  rep.local_eec = 0x333;
  conversation.deliver(rep);
  conversation.manager().ready(conversation.id());
  conversation.sent();
  EXPECT_TRUE(conversation.manager().disconnect(conversation.id(), conversation.now()));
  EXPECT_EQ(only<Dreq>(conversation.sent()).message.remote_qp, QpNumber{0x333});
}

// captures/rxe/udaddy.
TEST(CommunicationManagerMessages, OfServiceResolutionCarryTheRequestersId) {
  Conversation conversation(Position::kSidrReqReceived);
  conversation.manager().sidr_reply(conversation.id(),
                                    {.qp = Conversation::kOwnQp, .service_id = ServiceId{0x1111c06}},
                                    conversation.now());
  const auto reply = only<SidrRep>(conversation.sent());
  EXPECT_EQ(reply.message.request_id, Conversation::kPeerId);
  EXPECT_EQ(reply.message.qp, Conversation::kOwnQp);
  EXPECT_EQ(reply.transaction_id, Conversation::kPeerTransaction);
}

TEST(CommunicationManagerMessages, GoToTheAddressesOfTheConnection) {
  Conversation conversation(Position::kReqReceived);
  conversation.manager().accept(conversation.id(), {}, conversation.now());
  ASSERT_TRUE(conversation.manager().has_outgoing());
  const MadPath& path = conversation.manager().next_outgoing().path;
  EXPECT_EQ(path.source, conversation.arrival().destination);
  EXPECT_EQ(path.destination, conversation.arrival().source);
  ASSERT_TRUE(path.mac.has_value());
  EXPECT_EQ(*path.mac, conversation.arrival().mac);
}

TEST(CommunicationManagerMessages, OfDifferentConnectionsHaveDifferentIds) {
  Conversation conversation;
  conversation.request();
  const CommunicationId first = conversation.id();
  conversation.request();
  EXPECT_NE(conversation.id(), first);
  const auto sent = conversation.sent();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_NE(sent[0].transaction_id, sent[1].transaction_id);
}

// CM.md 4: a peer may remember the IDs of the process before.
TEST(CommunicationManagerMessages, HaveIdsThatDependOnTheSeed) {
  RecordingConsumer consumer;
  CommunicationManager one(1, 100, consumer);
  CommunicationManager other(1, 101, consumer);
  EXPECT_NE(one.request({}, {}, {}), other.request({}, {}, {}));
}

// --- Requests that are refused ---

TEST(CommunicationManagerRequest, WithAddressesOtherThanThoseItCameFromIsRejectedWithReason12) {
  for (const bool is_local : {true, false}) {
    Conversation conversation;
    Req req = conversation.peer_req();
    (is_local ? req.path.local_gid : req.path.remote_gid) = Gid::from_ipv4({{10, 0, 0, 77}});
    conversation.deliver(req, 5);
    const auto rej = only<Rej>(conversation.sent());
    EXPECT_EQ(rej.text, "REJ 12 of REQ");
    EXPECT_EQ(rej.message.local_id, CommunicationId{});
    EXPECT_EQ(rej.message.remote_id, Conversation::kPeerId);
    EXPECT_EQ(rej.transaction_id, 5u);
    EXPECT_EQ(conversation.told(), "");
    EXPECT_EQ(conversation.manager().connection_count(), 0u);
  }
}

TEST(CommunicationManagerRequest, ThatCannotBeReadIsRejectedWithTheReason) {
  struct Row {
    std::size_t at = 0;
    unsigned value = 0;
    const char* answer = "";
  };
  const Row rows[] = {{2, 1, "REJ 31 of REQ"},
                      {24 + 43, 2u << 1, "REJ 9 of REQ"},
                      {24 + 50, 0, "REJ 26 of REQ"},
                      {24 + 50, 0x60, "REJ 26 of REQ"},
                      {0, 2, ""},
                      {1, 3, ""},
                      {3, 1, ""},
                      {17, 0x1b, ""}};
  for (const Row& row : rows) {
    Conversation conversation;
    MadBytes bytes = write({.transaction_id = 5, .message = conversation.peer_req()});
    bytes[row.at] = static_cast<std::byte>(row.value);
    conversation.deliver_bytes(bytes);
    EXPECT_EQ(conversation.sent_text(), row.answer) << "byte " << row.at;
    EXPECT_EQ(conversation.told(), "");
    EXPECT_EQ(conversation.manager().counters().malformed(), 1u);
  }
}

TEST(CommunicationManagerRequest, IsRejectedAsTheConsumerSays) {
  Conversation conversation;
  conversation.consumer().decision = {.kind = Decision::Kind::kReject,
                                      .reason = RejectReason::kInvalidServiceId};
  conversation.deliver(conversation.peer_req());
  const auto rej = only<Rej>(conversation.sent());
  EXPECT_EQ(rej.text, "REJ 8 of REQ");
  EXPECT_EQ(rej.message.local_id, CommunicationId{});
  EXPECT_EQ(conversation.manager().connection_count(), 0u);
}

TEST(CommunicationManagerRequest, ThatTheConsumerIgnoresIsTakenWhenItComesAgain) {
  Conversation conversation;
  conversation.consumer().decision = {.kind = Decision::Kind::kIgnore};
  conversation.deliver(conversation.peer_req());
  EXPECT_EQ(conversation.sent_text(), "");
  EXPECT_EQ(conversation.manager().connection_count(), 0u);
  conversation.consumer().decision = {};
  conversation.deliver(conversation.peer_req());
  EXPECT_EQ(conversation.told(), "request; request");
  EXPECT_EQ(conversation.manager().connection_count(), 1u);
}

TEST(CommunicationManagerRequest, ForAServiceIsAnsweredAsTheConsumerSays) {
  Conversation conversation;
  conversation.consumer().sidr_decision = {.kind = Decision::Kind::kReject,
                                           .status = SidrStatus::kUnsupported};
  conversation.deliver(conversation.peer_sidr_req());
  const SidrRep reply = only<SidrRep>(conversation.sent()).message;
  EXPECT_EQ(reply.status, SidrStatus::kUnsupported);
  EXPECT_EQ(reply.request_id, Conversation::kPeerId);
  EXPECT_EQ(reply.service_id, ServiceId{0x1111c06});
  conversation.consumer().sidr_decision = {.kind = Decision::Kind::kIgnore};
  conversation.deliver(conversation.peer_sidr_req());
  EXPECT_EQ(conversation.sent_text(), "");
  EXPECT_EQ(conversation.manager().connection_count(), 0u);
}

// The request ID is the peer's: two stations may choose the same.
TEST(CommunicationManagerRequest, ForAServiceIsKnownByItsSenderAndItsId) {
  Conversation conversation(Position::kSidrReqReceived);
  conversation.deliver(conversation.peer_sidr_req());
  EXPECT_EQ(conversation.told(), "");
  SidrReq other = conversation.peer_sidr_req();
  other.request_id = CommunicationId{0x901};
  conversation.deliver(other);
  EXPECT_EQ(conversation.told(), "SIDR request");
  conversation.deliver_from_stranger(conversation.peer_sidr_req());
  EXPECT_EQ(conversation.told(), "SIDR request");
  EXPECT_EQ(conversation.manager().connection_count(), 3u);
}

// --- Stale connections: the peer has started over with a queue pair that we know ---

Req request_anew(const Conversation& conversation) {
  Req req = conversation.peer_req();
  req.local_id = CommunicationId{0x901};
  return req;
}

TEST(CommunicationManagerStale, ConnectionIsEndedByARequestForItsQueuePair) {
  using enum Position;
  for (const Position position : {kEstablishedActive, kEstablishedPassive, kRepSent}) {
    SCOPED_TRACE(name_of(position));
    Conversation conversation(position);
    conversation.deliver(request_anew(conversation));
    EXPECT_EQ(conversation.sent_text(), "REJ 10 of REQ, DREQ");
    EXPECT_EQ(conversation.state(), "DREQ_SENT");
    conversation.deliver(conversation.peer_drep());
    EXPECT_EQ(conversation.told(), "disconnected");
  }
}

TEST(CommunicationManagerStale, ConnectionThatEndsAnywayKeepsTheQueuePairUntilTimewait) {
  using enum Position;
  for (const Position position :
       {kDreqSentActive, kDreqSentPassive, kDreqReceivedActive, kDreqReceivedPassive, kReqReceived}) {
    SCOPED_TRACE(name_of(position));
    Conversation conversation(position);
    const std::string before = conversation.state();
    conversation.deliver(request_anew(conversation));
    EXPECT_EQ(conversation.sent_text(), "REJ 10 of REQ");
    EXPECT_EQ(conversation.told(), "");
    EXPECT_EQ(conversation.state(), before);
  }
}

TEST(CommunicationManagerStale, QueuePairMayBeConnectedAgainInTimewaitAndAfterIt) {
  for (const Position position : {Position::kTimewaitActive, Position::kTimewaitPassive}) {
    for (const auto time : {0s, 1s}) {
      Conversation conversation(position);
      conversation.pass(time);
      conversation.told();
      conversation.deliver(request_anew(conversation));
      EXPECT_EQ(conversation.sent_text(), "");
      EXPECT_EQ(conversation.told(), "request");
    }
  }
}

TEST(CommunicationManagerStale, QueuePairMayBeConnectedAgainAtOnceAfterARejection) {
  using enum Position;
  for (const Position position : {kRequestRejected, kReplyRejected}) {
    Conversation conversation(position);
    conversation.deliver(request_anew(conversation));
    EXPECT_EQ(conversation.sent_text(), "") << name_of(position);
    EXPECT_EQ(conversation.told(), "request") << name_of(position);
  }
}

TEST(CommunicationManagerStale, IsNoRequestForAnotherQueuePairOrOfAnotherHost) {
  for (const bool is_other_host : {true, false}) {
    Conversation conversation(Position::kEstablishedPassive);
    Req req = request_anew(conversation);
    if (is_other_host) {
      req.local_ca_guid ^= 1;
    } else {
      req.local_qp = QpNumber{0x223};
    }
    conversation.deliver(req);
    EXPECT_EQ(conversation.sent_text(), "");
    EXPECT_EQ(conversation.told(), "request");
    EXPECT_EQ(conversation.state(), "ESTABLISHED");
  }
}

// --- What the consumer asks for ---

// Fact 47: data that comes before the RTU says as much.
TEST(CommunicationManagerCalls, EstablishByDataInsteadOfRtu) {
  Conversation conversation(Position::kRepSent);
  EXPECT_TRUE(conversation.manager().establish(conversation.id()));
  EXPECT_EQ(conversation.told(), "ready");
  EXPECT_EQ(conversation.state(), "ESTABLISHED");
  EXPECT_EQ(conversation.manager().next_timeout(), kNever);
  conversation.deliver(conversation.peer_rtu());
  EXPECT_EQ(conversation.told(), "");
}

TEST(CommunicationManagerCalls, MeanNothingInAnotherState) {
  using enum Position;
  for (const Position position : kAllPositions) {
    SCOPED_TRACE(name_of(position));
    Conversation conversation(position);
    CommunicationManager& manager = conversation.manager();
    const CommunicationId id = conversation.id();
    const std::string before = conversation.state();
    if (position != kReqReceived) manager.accept(id, {}, conversation.now());
    if (position != kRepReceived) manager.ready(id);
    if (position != kRepSent) {
      EXPECT_FALSE(manager.establish(id));
    }
    if (position != kSidrReqReceived) manager.sidr_reply(id, {}, conversation.now());
    const bool is_connected = position == kRepSent || position == kEstablishedActive ||
                              position == kEstablishedPassive || position == kDreqReceivedActive ||
                              position == kDreqReceivedPassive;
    if (!is_connected) {
      EXPECT_FALSE(manager.disconnect(id, conversation.now()));
    }
    EXPECT_EQ(conversation.sent_text(), "");
    EXPECT_EQ(conversation.told(), "");
    EXPECT_EQ(conversation.state(), before);
  }
}

// Linux' ib_cm: what has gone too far to be rejected cannot be.
TEST(CommunicationManagerCalls, RejectNothingThatWasEstablished) {
  using enum Position;
  for (const Position position :
       {kEstablishedActive, kEstablishedPassive, kDreqSentActive, kDreqSentPassive, kDreqReceivedActive,
        kDreqReceivedPassive, kTimewaitActive, kTimewaitPassive, kRequestRejected, kReplyRejected,
        kSidrReqSent, kSidrReqReceived, kSidrAnswered}) {
    SCOPED_TRACE(name_of(position));
    Conversation conversation(position);
    const std::string before = conversation.state();
    conversation.manager().reject(conversation.id(), {.reason = RejectReason::kConsumerDefined},
                                  conversation.now());
    EXPECT_EQ(conversation.sent_text(), "");
    EXPECT_EQ(conversation.state(), before);
  }
}

TEST(CommunicationManagerCalls, AboutAnIdThatMeansNothingDoNothing) {
  Conversation conversation;
  CommunicationManager& manager = conversation.manager();
  const CommunicationId id{12345};
  manager.accept(id, {}, conversation.now());
  manager.ready(id);
  manager.reject(id, {}, conversation.now());
  EXPECT_FALSE(manager.disconnect(id, conversation.now()));
  EXPECT_FALSE(manager.establish(id));
  manager.release(id, conversation.now());
  manager.sidr_reply(id, {}, conversation.now());
  EXPECT_EQ(conversation.sent_text(), "");
  EXPECT_EQ(manager.find(id), nullptr);
}

// Whatever it is in the middle of ends, with a peer that never answers.
TEST(CommunicationManagerCalls, ReleaseEndsEverythingAndTellsTheConsumerNothingMore) {
  using enum Position;
  struct Row {
    Position position{};
    const char* sent = "";
  };
  const Row rows[] = {{kReqSent, "REJ 4 of another"},
                      {kReqReceived, "REJ 28 of REQ"},
                      {kRepSent, "REJ 28 of another"},
                      {kRepReceived, "REJ 28 of REP"},
                      {kEstablishedActive, "DREQ"},
                      {kEstablishedPassive, "DREQ"},
                      {kDreqSentActive, ""},
                      {kDreqSentPassive, ""},
                      {kDreqReceivedActive, "DREP"},
                      {kDreqReceivedPassive, "DREP"},
                      {kTimewaitActive, ""},
                      {kTimewaitPassive, ""},
                      {kRequestRejected, ""},
                      {kReplyRejected, ""},
                      {kReplyWithdrawn, ""},
                      {kSidrReqSent, ""},
                      {kSidrReqReceived, "SIDR_REP 2"},
                      {kSidrAnswered, ""}};
  for (const Row& row : rows) {
    SCOPED_TRACE(name_of(row.position));
    Conversation conversation(row.position);
    conversation.manager().release(conversation.id(), conversation.now());
    EXPECT_EQ(conversation.sent_text(), row.sent);
    conversation.pass(200s);
    EXPECT_EQ(conversation.told(), "");
    EXPECT_EQ(conversation.manager().connection_count(), 0u);
    EXPECT_EQ(conversation.manager().next_timeout(), kNever);
  }
}

// --- Limits ---

TEST(CommunicationManagerLimits, HoldTheNumberOfConnections) {
  Conversation conversation;
  CommunicationManager& manager = conversation.manager();
  Req req = conversation.peer_req();
  for (std::uint32_t i = 0; i < CommunicationManager::kMaxConnections; ++i) {
    req.local_id = CommunicationId{i + 1};
    req.local_qp = QpNumber{i + 1};
    conversation.deliver(req);
  }
  EXPECT_EQ(manager.connection_count(), CommunicationManager::kMaxConnections);
  EXPECT_FALSE(manager.has_outgoing());
  conversation.told();

  req.local_id = CommunicationId{0xffffff};
  req.local_qp = QpNumber{0xffffff};
  conversation.deliver(req);
  EXPECT_EQ(conversation.sent_text(), "REJ 3 of REQ");
  conversation.deliver(conversation.peer_sidr_req());
  EXPECT_EQ(conversation.told(), "");
  EXPECT_FALSE(manager.request({}, conversation.path(), conversation.now()));
  EXPECT_FALSE(manager.sidr_request({}, conversation.path(), conversation.now()));
  EXPECT_EQ(manager.connection_count(), CommunicationManager::kMaxConnections);
}

TEST(CommunicationManagerLimits, HoldTheMessagesThatWaitToBeSent) {
  Conversation conversation;
  for (std::size_t i = 0; i < CommunicationManager::kMaxOutgoing + 10; ++i) {
    conversation.deliver(Dreq{.local_id = CommunicationId{5}, .remote_id = CommunicationId{6}}, i);
  }
  const auto sent = conversation.sent();
  ASSERT_EQ(sent.size(), CommunicationManager::kMaxOutgoing);
  EXPECT_EQ(sent.back().transaction_id, CommunicationManager::kMaxOutgoing - 1);
  EXPECT_EQ(conversation.manager().counters().value(CounterGroup::kSent), CommunicationManager::kMaxOutgoing);
  EXPECT_EQ(conversation.manager().counters().dropped(), 10u);
}

}  // namespace
}  // namespace urnic::nic::cm
