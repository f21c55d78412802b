// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ManagerTest: a communication manager alone, a consumer that writes down what it is told, and a peer who
// says anything.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nic/cm/communication_manager.h"
#include "nic/cm/consumer.h"
#include "nic/cm/message.h"
#include "nic/cm/types.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic::cm {

/// Writes down what it is told, and decides as the test says.
class RecordingConsumer final : public Consumer {
 public:
  Decision decision{};
  SidrDecision sidr_decision{};
  /// Of the last request; the one that the next events are about.
  CommunicationId last_request{};
  std::vector<std::string> events;

  Decision on_request(CommunicationId id, const Req& req, const Arrival& from, transport::Time now) override;
  void on_reply(CommunicationId id, const Rep& rep) override;
  void on_ready(CommunicationId id) override;
  void on_rejected(CommunicationId id, const Rej& rej) override;
  void on_refused(const Req&, RejectReason, const Arrival&) override {}  // the peer is told, and no id ends
  void on_unanswered(CommunicationId id, const Silence& silence) override;
  void on_disconnect_request(CommunicationId id) override;
  void on_disconnected(CommunicationId id, bool is_answered) override;
  void on_timewait_exit(CommunicationId id) override;
  SidrDecision on_sidr_request(CommunicationId id, const SidrReq& request, const Arrival& from,
                               transport::Time now) override;
  void on_sidr_reply(CommunicationId id, const SidrRep& reply) override;
};

/// Where a conversation stands.
enum class Position : std::uint8_t {
  kReqSent,
  kReqReceived,
  kRepSent,
  kRepReceived,
  kEstablishedActive,
  kEstablishedPassive,
  kDreqSentActive,
  kDreqSentPassive,
  kDreqReceivedActive,
  kDreqReceivedPassive,
  kTimewaitActive,
  kTimewaitPassive,
  kRequestRejected,  ///< by us
  kReplyRejected,    ///< by us
  kReplyWithdrawn,   ///< we sent REP, and REJ after it
  kSidrReqSent,
  kSidrReqReceived,
  kSidrAnswered,
};
inline constexpr Position kAllPositions[] = {
    Position::kReqSent,
    Position::kReqReceived,
    Position::kRepSent,
    Position::kRepReceived,
    Position::kEstablishedActive,
    Position::kEstablishedPassive,
    Position::kDreqSentActive,
    Position::kDreqSentPassive,
    Position::kDreqReceivedActive,
    Position::kDreqReceivedPassive,
    Position::kTimewaitActive,
    Position::kTimewaitPassive,
    Position::kRequestRejected,
    Position::kReplyRejected,
    Position::kReplyWithdrawn,
    Position::kSidrReqSent,
    Position::kSidrReqReceived,
    Position::kSidrAnswered,
};
std::string_view name_of(Position position);
bool is_passive(Position position);

/// A manager and its peer, of which there is nothing but the messages that a test makes.
class Conversation {
 public:
  static constexpr std::uint64_t kOwnGuid = 0x0123456789abcdef;
  static constexpr std::uint64_t kPeerGuid = 0xfedcba9876543210;
  static constexpr CommunicationId kPeerId{0x900};
  static constexpr transport::QpNumber kOwnQp{0x111};
  static constexpr transport::QpNumber kPeerQp{0x222};
  static constexpr std::uint64_t kPeerTransaction = 0x7777000000000001;
  /// The peer's: 4.2 ms and 2.1 ms, so that neither is one of ours.
  static constexpr std::uint8_t kPeerResponseTimeout = 10;
  static constexpr std::uint8_t kPeerRetries = 3;
  static constexpr std::uint8_t kPeerAckTimeout = 9;
  /// In our REQ.
  static constexpr std::uint8_t kOwnAckTimeout = 12;

  Conversation() = default;
  /// One that has come so far. What was sent and told on the way is forgotten.
  explicit Conversation(Position position) { go_to(position); }

  CommunicationManager& manager() { return manager_; }
  RecordingConsumer& consumer() { return consumer_; }
  /// Of our connection.
  CommunicationId id() const { return id_; }
  transport::Time now() const { return now_; }

  void request();
  void sidr_request();
  void go_to(Position position);

  /// As the peer sends it at this point.
  Req peer_req() const;
  Rep peer_rep() const;
  Rtu peer_rtu() const;
  Rej peer_rej(Answered answered, RejectReason reason = RejectReason::kConsumerDefined) const;
  Mra peer_mra(Answered answered, std::uint8_t timeout = 20) const;
  Dreq peer_dreq() const;
  Drep peer_drep() const;
  SidrReq peer_sidr_req() const;
  SidrRep peer_sidr_rep() const;

  void deliver(const Message& message, std::uint64_t transaction_id = kPeerTransaction);
  /// From a station that has nothing to do with the conversation.
  void deliver_from_stranger(const Message& message);
  void deliver_bytes(const MadBytes& bytes);
  Arrival arrival() const;
  MadPath path() const;

  /// Moves time, stopping at every timeout on the way.
  void pass(transport::Duration duration);
  /// Moves time to the next timeout; how long that took. Fails the test when there is none.
  transport::Duration pass_to_timeout();

  /// What was sent since the last call.
  std::vector<Mad> sent();
  /// "REJ 8 of REQ, DREQ"; "" for nothing.
  std::string sent_text();
  /// What the consumer was told since the last call: "reply", "disconnected; timewait exit"; "" for nothing.
  std::string told();
  /// "ESTABLISHED"; "gone".
  std::string state() const;

 private:
  RecordingConsumer consumer_;
  CommunicationManager manager_{kOwnGuid, 7, consumer_};
  transport::Time now_{std::chrono::seconds(1000)};
  CommunicationId id_{};
};

/// "REJ 8 of REQ": what matters in a table.
std::string brief(const Mad& mad);

}  // namespace urnic::nic::cm
