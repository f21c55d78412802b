// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/nic/cm/manager_fixture.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <variant>

#include "transport/wire/byte_order.h"

namespace urnic::nic::cm {

using transport::Duration;
using transport::kNever;
using transport::Psn;
using transport::to_integer;
using transport::wire::Gid;

namespace {

const Gid kOwnGid = Gid::from_ipv4({{10, 0, 0, 1}});
const Gid kPeerGid = Gid::from_ipv4({{10, 0, 0, 2}});
const Gid kStrangerGid = Gid::from_ipv4({{10, 0, 0, 3}});
constexpr transport::wire::Mac kPeerMac{{2, 0, 0, 0, 0, 2}};

std::string_view name_of(Answered answered) {
  switch (answered) {
    case Answered::kReq:
      return "REQ";
    case Answered::kRep:
      return "REP";
    case Answered::kOther:
      return "another";
  }
  return "?";
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : std::string(separator)) + part;
  return text;
}

}  // namespace

// --- RecordingConsumer ---

Decision RecordingConsumer::on_request(CommunicationId id, const Req&, const Arrival&, transport::Time) {
  last_request = id;
  events.emplace_back("request");
  return decision;
}

void RecordingConsumer::on_reply(CommunicationId, const Rep&) {
  events.emplace_back("reply");
}

void RecordingConsumer::on_ready(CommunicationId) {
  events.emplace_back("ready");
}

void RecordingConsumer::on_rejected(CommunicationId, const Rej& rej) {
  events.push_back("rejected " + std::to_string(to_integer(rej.reason)));
}

void RecordingConsumer::on_unanswered(CommunicationId, const Silence&) {
  events.emplace_back("unanswered");
}

void RecordingConsumer::on_disconnect_request(CommunicationId) {
  events.emplace_back("disconnect request");
}

void RecordingConsumer::on_disconnected(CommunicationId, bool is_answered) {
  events.emplace_back(is_answered ? "disconnected" : "disconnected without answer");
}

void RecordingConsumer::on_timewait_exit(CommunicationId) {
  events.emplace_back("timewait exit");
}

SidrDecision RecordingConsumer::on_sidr_request(CommunicationId id, const SidrReq&, const Arrival&,
                                                transport::Time) {
  last_request = id;
  events.emplace_back("SIDR request");
  return sidr_decision;
}

void RecordingConsumer::on_sidr_reply(CommunicationId, const SidrRep&) {
  events.emplace_back("SIDR reply");
}

// --- Positions ---

std::string_view name_of(Position position) {
  using enum Position;
  switch (position) {
    case kReqSent:
      return "REQ_SENT";
    case kReqReceived:
      return "REQ_RCVD";
    case kRepSent:
      return "REP_SENT";
    case kRepReceived:
      return "REP_RCVD";
    case kEstablishedActive:
      return "ESTABLISHED, active";
    case kEstablishedPassive:
      return "ESTABLISHED, passive";
    case kDreqSentActive:
      return "DREQ_SENT, active";
    case kDreqSentPassive:
      return "DREQ_SENT, passive";
    case kDreqReceivedActive:
      return "DREQ_RCVD, active";
    case kDreqReceivedPassive:
      return "DREQ_RCVD, passive";
    case kTimewaitActive:
      return "TIMEWAIT, active";
    case kTimewaitPassive:
      return "TIMEWAIT, passive";
    case kRequestRejected:
      return "request rejected";
    case kReplyRejected:
      return "reply rejected";
    case kReplyWithdrawn:
      return "reply withdrawn";
    case kSidrReqSent:
      return "SIDR_REQ_SENT";
    case kSidrReqReceived:
      return "SIDR_REQ_RCVD";
    case kSidrAnswered:
      return "SIDR answered";
  }
  return "";
}

bool is_passive(Position position) {
  using enum Position;
  constexpr Position kPassive[] = {
      kReqReceived,         kRepSent,         kEstablishedPassive, kDreqSentPassive, kTimewaitPassive,
      kDreqReceivedPassive, kRequestRejected, kReplyWithdrawn,     kSidrReqReceived, kSidrAnswered};
  return std::find(std::begin(kPassive), std::end(kPassive), position) != std::end(kPassive);
}

void Conversation::request() {
  Req req{.service_id = ServiceId{0x1061c06},
          .local_qp = kOwnQp,
          .path = {.local_gid = kOwnGid, .remote_gid = kPeerGid, .local_ack_timeout = kOwnAckTimeout}};
  id_ = manager_.request(req, path(), now_).value();
}

void Conversation::sidr_request() {
  id_ = manager_.sidr_request({.service_id = ServiceId{0x1111c06}}, path(), now_).value();
}

void Conversation::go_to(Position position) {
  using enum Position;
  switch (position) {
    case kReqSent:
      request();
      break;
    case kReqReceived:
      deliver(peer_req());
      id_ = consumer_.last_request;
      break;
    case kRepSent:
      go_to(kReqReceived);
      manager_.accept(id_, {.local_qp = kOwnQp}, now_);
      break;
    case kRepReceived:
      go_to(kReqSent);
      deliver(peer_rep());
      break;
    case kEstablishedActive:
      go_to(kRepReceived);
      manager_.ready(id_);
      break;
    case kEstablishedPassive:
      go_to(kRepSent);
      deliver(peer_rtu());
      break;
    case kDreqSentActive:
    case kDreqSentPassive:
      go_to(position == kDreqSentActive ? kEstablishedActive : kEstablishedPassive);
      EXPECT_TRUE(manager_.disconnect(id_, now_));
      break;
    case kDreqReceivedActive:
    case kDreqReceivedPassive:
      go_to(position == kDreqReceivedActive ? kEstablishedActive : kEstablishedPassive);
      deliver(peer_dreq());
      break;
    case kTimewaitActive:
    case kTimewaitPassive:
      go_to(position == kTimewaitActive ? kDreqSentActive : kDreqSentPassive);
      deliver(peer_drep());
      break;
    case kRequestRejected:
      go_to(kReqReceived);
      manager_.reject(id_, {.reason = RejectReason::kConsumerDefined}, now_);
      break;
    case kReplyRejected:
      go_to(kRepReceived);
      manager_.reject(id_, {.reason = RejectReason::kConsumerDefined}, now_);
      break;
    case kReplyWithdrawn:
      go_to(kRepSent);
      manager_.release(id_, now_);
      break;
    case kSidrReqSent:
      sidr_request();
      break;
    case kSidrReqReceived:
      deliver(peer_sidr_req());
      id_ = consumer_.last_request;
      break;
    case kSidrAnswered:
      go_to(kSidrReqReceived);
      manager_.sidr_reply(id_, {.qp = kOwnQp, .service_id = ServiceId{0x1111c06}}, now_);
      break;
  }
  sent();
  told();
}

// --- The peer ---

Req Conversation::peer_req() const {
  return {.local_id = kPeerId,
          .service_id = ServiceId{0x1061c06},
          .local_ca_guid = kPeerGuid,
          .local_qp = kPeerQp,
          .remote_response_timeout = 11,
          .local_response_timeout = kPeerResponseTimeout,
          .max_cm_retries = kPeerRetries,
          .path = {.local_gid = kPeerGid, .remote_gid = kOwnGid, .local_ack_timeout = kPeerAckTimeout}};
}

Rep Conversation::peer_rep() const {
  return {.local_id = kPeerId, .remote_id = id_, .local_qp = kPeerQp, .local_ca_guid = kPeerGuid};
}

Rtu Conversation::peer_rtu() const {
  return {.local_id = kPeerId, .remote_id = id_};
}

Rej Conversation::peer_rej(Answered answered, RejectReason reason) const {
  const CommunicationId own = answered == Answered::kReq ? CommunicationId{} : kPeerId;
  return {.local_id = own, .remote_id = id_, .answered = answered, .reason = reason};
}

Mra Conversation::peer_mra(Answered answered, std::uint8_t timeout) const {
  return {.local_id = kPeerId, .remote_id = id_, .answered = answered, .service_timeout = timeout};
}

Dreq Conversation::peer_dreq() const {
  return {.local_id = kPeerId, .remote_id = id_, .remote_qp = kOwnQp};
}

Drep Conversation::peer_drep() const {
  return {.local_id = kPeerId, .remote_id = id_};
}

SidrReq Conversation::peer_sidr_req() const {
  return {.request_id = kPeerId, .service_id = ServiceId{0x1111c06}};
}

SidrRep Conversation::peer_sidr_rep() const {
  return {.request_id = id_, .qp = kPeerQp, .service_id = ServiceId{0x1111c06}};
}

Arrival Conversation::arrival() const {
  return {.source = kPeerGid, .destination = kOwnGid, .mac = kPeerMac};
}

MadPath Conversation::path() const {
  return {.source = kOwnGid, .destination = kPeerGid};
}

void Conversation::deliver(const Message& message, std::uint64_t transaction_id) {
  deliver_bytes(write({.transaction_id = transaction_id, .message = message}));
}

void Conversation::deliver_from_stranger(const Message& message) {
  Arrival from = arrival();
  from.source = kStrangerGid;
  manager_.on_mad(write({.transaction_id = kPeerTransaction, .message = message}), from, now_);
}

void Conversation::deliver_bytes(const MadBytes& bytes) {
  manager_.on_mad(bytes, arrival(), now_);
}

// --- Time and what comes out ---

void Conversation::pass(Duration duration) {
  const transport::Time end = now_ + duration;
  while (manager_.next_timeout() <= end) {
    now_ = std::max(now_, manager_.next_timeout());
    manager_.on_timeout(now_);
  }
  now_ = end;
}

Duration Conversation::pass_to_timeout() {
  const transport::Time next = manager_.next_timeout();
  EXPECT_NE(next, kNever) << "nothing is waited for";
  if (next == kNever) return {};
  const Duration passed = next - now_;
  now_ = next;
  manager_.on_timeout(now_);
  return passed;
}

std::vector<Mad> Conversation::sent() {
  std::vector<Mad> mads;
  for (; manager_.has_outgoing(); manager_.pop()) {
    const OutgoingMad& outgoing = manager_.next_outgoing();
    EXPECT_EQ(outgoing.path.source, kOwnGid);
    const auto parsed = parse(outgoing.bytes);
    EXPECT_TRUE(std::holds_alternative<Mad>(parsed));
    if (const Mad* const mad = std::get_if<Mad>(&parsed)) mads.push_back(*mad);
  }
  return mads;
}

std::string Conversation::sent_text() {
  std::vector<std::string> texts;
  for (const Mad& mad : sent()) texts.push_back(brief(mad));
  return join(texts, ", ");
}

std::string Conversation::told() {
  const std::string text = join(consumer_.events, "; ");
  consumer_.events.clear();
  return text;
}

std::string Conversation::state() const {
  const Connection* const connection = manager_.find(id_);
  return connection == nullptr ? "gone" : std::string(name_of(connection->state));
}

std::string brief(const Mad& mad) {
  struct Names {
    std::string operator()(const Req&) const { return "REQ"; }
    std::string operator()(const Rep&) const { return "REP"; }
    std::string operator()(const Rtu&) const { return "RTU"; }
    std::string operator()(const Rej& rej) const {
      return "REJ " + std::to_string(to_integer(rej.reason)) + " of " + std::string(name_of(rej.answered));
    }
    std::string operator()(const Mra& mra) const { return "MRA of " + std::string(name_of(mra.answered)); }
    std::string operator()(const Dreq&) const { return "DREQ"; }
    std::string operator()(const Drep&) const { return "DREP"; }
    std::string operator()(const SidrReq&) const { return "SIDR_REQ"; }
    std::string operator()(const SidrRep& rep) const {
      return "SIDR_REP " + std::to_string(to_integer(rep.status));
    }
    std::string operator()(const AlternatePath&) const { return "LAP"; }
  };
  return std::visit(Names{}, mad.message);
}

}  // namespace urnic::nic::cm
