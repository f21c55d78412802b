// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What each message of a peer does to a connection.
#include <variant>

#include "nic/cm/communication_manager.h"
#include "nic/cm/timing.h"
#include "transport/wire/byte_order.h"

namespace urnic::nic::cm {

using transport::kNever;
using transport::Time;

void CommunicationManager::on_mad(std::span<const std::byte> bytes, const Arrival& from, Time now) {
  const auto parsed = parse(bytes);
  if (const auto* const mad = std::get_if<Mad>(&parsed)) {
    const Incoming in{
        .kind = kind_of(bytes), .transaction_id = mad->transaction_id, .from = from, .now = now};
    counters_.add(CounterGroup::kReceived, in.kind);
    std::visit([this, &in](const auto& message) { on_message(message, in); }, mad->message);
    return;
  }
  counters_.add_malformed();
  const auto request = unreadable_request(bytes);
  if (!request) return;
  refuse(request->remote_id, request->reason,
         {.kind = MessageKind::kReq, .transaction_id = request->transaction_id, .from = from, .now = now});
}

/// The connection that a message names by our ID and its peer's, if it came from that peer. The peer's may
/// not be known yet; another one is left over from an earlier connection.
Connection* CommunicationManager::expect(CommunicationId local_id, CommunicationId remote_id,
                                         const Arrival& from) {
  Connection* const connection = find_mutable(local_id);
  const bool is_it = connection != nullptr && connection->path.destination == from.source &&
                     (connection->remote_id == CommunicationId{} || connection->remote_id == remote_id);
  if (is_it) return connection;
  count_unexpected();
  return nullptr;
}

/// Rejects a REQ of which nothing is kept.
void CommunicationManager::refuse(CommunicationId remote_id, RejectReason reason, const Incoming& in) {
  const Rej rej{.remote_id = remote_id, .answered = Answered::kReq, .reason = reason};
  send({.source = in.from.destination, .destination = in.from.source, .mac = in.from.mac},
       write({.transaction_id = in.transaction_id, .message = rej}));
}

/// The same, and tells the consumer.
void CommunicationManager::refuse(const Req& req, RejectReason reason, const Incoming& in) {
  refuse(req.local_id, reason, in);
  consumer_.on_refused(req, reason, in.from);
}

// --- REQ ---

void CommunicationManager::on_message(const Req& req, const Incoming& in) {
  // Answers go to the addresses in the REQ: they must be the ones that it came with.
  const bool is_genuine = req.path.local_gid == in.from.source && req.path.remote_gid == in.from.destination;
  if (!is_genuine) return refuse(req, RejectReason::kInvalidGid, in);

  const PeerKey peer_id{req.local_ca_guid, transport::to_integer(req.local_id)};
  const auto known = by_peer_id_.find(peer_id);
  if (known != by_peer_id_.end()) {
    Connection& connection = connections_.at(static_cast<std::uint32_t>(known->second));
    if (connection.remote_qp == req.local_qp) return on_repeated_request(connection, req, in);
  }
  if (Connection* const old = find_stale(req, in.from); old != nullptr) {
    refuse(req, RejectReason::kStaleConnection, in);
    if (old->state == State::kEstablished || old->state == State::kRepSent) send_dreq(*old, in.now);
    return;
  }

  Connection* const connection = add(State::kReqReceived);
  if (connection == nullptr) return refuse(req, RejectReason::kNoResources, in);
  connection->remote_id = req.local_id;
  connection->transaction_id = in.transaction_id;
  connection->path = {.source = in.from.destination,
                      .destination = in.from.source,
                      .traffic_class = req.path.traffic_class,
                      .service_level = req.path.service_level,
                      .mac = in.from.mac};
  connection->remote_qp = req.local_qp;
  connection->remote_guid = req.local_ca_guid;
  connection->interval = timeout_of(req.local_response_timeout);
  connection->max_retries = req.max_cm_retries;
  connection->timewait = timeout_of(req.path.local_ack_timeout);
  remember_peer(*connection);
  note_farewell(*connection);

  const CommunicationId id = connection->local_id;
  const Decision decision = consumer_.on_request(id, req, in.from, in.now);
  if (decision.kind == Decision::Kind::kPending) return;
  forget(connections_.at(static_cast<std::uint32_t>(id)));
  if (decision.kind == Decision::Kind::kReject) refuse(req.local_id, decision.reason, in);
}

void CommunicationManager::on_repeated_request(Connection& connection, const Req& req, const Incoming& in) {
  count_duplicate(in);
  switch (connection.state) {
    case State::kReqReceived: {
      // The program has not decided yet.
      const Mra mra{.local_id = connection.local_id,
                    .remote_id = connection.remote_id,
                    .answered = Answered::kReq,
                    .service_timeout = kServiceTimeout};
      send(connection.path, write({.transaction_id = connection.transaction_id, .message = mra}));
      break;
    }
    case State::kRepSent:
    case State::kAnswered:
      send_last(connection);
      break;
    case State::kTimewait:
      refuse(req, RejectReason::kStaleConnection, in);
      break;
    default:
      break;  // older than what has happened since
  }
}

/// The connection with the peer's queue pair, if there is one: then the peer has started over, and that
/// connection ends. A stranger who names the peer's GUID and queue pair from another address ends nothing,
/// unlike with Linux' ib_cm, which does not compare addresses.
Connection* CommunicationManager::find_stale(const Req& req, const Arrival& from) {
  const auto known = by_peer_qp_.find(
      {.key = {req.local_ca_guid, transport::to_integer(req.local_qp)}, .address = from.source});
  return known == by_peer_qp_.end() ? nullptr : &connections_.at(static_cast<std::uint32_t>(known->second));
}

// --- The other messages ---

void CommunicationManager::on_message(const Rep& rep, const Incoming& in) {
  Connection* const connection = find_mutable(rep.remote_id);
  if (connection == nullptr || !connection->is_active || connection->path.destination != in.from.source) {
    count_unexpected();
    const Rej rej{.local_id = rep.remote_id,
                  .remote_id = rep.local_id,
                  .answered = Answered::kRep,
                  .reason = RejectReason::kInvalidCommunicationId};
    return send({.source = in.from.destination, .destination = in.from.source, .mac = in.from.mac},
                write({.transaction_id = in.transaction_id, .message = rej}));
  }
  if (connection->state == State::kReqSent) {
    connection->remote_id = rep.local_id;
    connection->remote_qp = rep.queue_pair();
    connection->remote_guid = rep.local_ca_guid;
    connection->path.mac = in.from.mac;
    set_state(*connection, State::kRepReceived);
    remember_peer(*connection);
    wait(*connection, kNever);
    consumer_.on_reply(connection->local_id, rep);
    return;
  }
  count_duplicate(in);
  if (connection->state == State::kRepReceived) {
    const Mra mra{.local_id = connection->local_id,
                  .remote_id = connection->remote_id,
                  .answered = Answered::kRep,
                  .service_timeout = kServiceTimeout};
    send(connection->path, write({.transaction_id = connection->transaction_id, .message = mra}));
  } else if (connection->state == State::kEstablished || connection->state == State::kAnswered) {
    send_last(*connection);
  }
}

void CommunicationManager::on_message(const Rtu& rtu, const Incoming& in) {
  Connection* const connection = expect(rtu.remote_id, rtu.local_id, in.from);
  if (connection == nullptr) return;
  if (connection->state == State::kRepSent) {
    establish(connection->local_id);
  } else {
    count_duplicate(in);
  }
}

void CommunicationManager::on_message(const Rej& rej, const Incoming& in) {
  // One that gives up before any answer came does not know our ID, but says who it is (CM.md 2: ARI).
  const bool is_nameless = rej.remote_id == CommunicationId{} && rej.reason == RejectReason::kTimeout;
  const CommunicationId named = is_nameless ? find_by_peer(rej) : rej.remote_id;
  Connection* const connection = expect(named, rej.local_id, in.from);
  if (connection == nullptr) return;
  switch (connection->state) {
    case State::kReqSent:
    case State::kReqReceived:
    case State::kRepSent:
    case State::kRepReceived: {
      const CommunicationId id = connection->local_id;
      const bool is_released = connection->is_released;
      forget(*connection);
      if (!is_released) consumer_.on_rejected(id, rej);
      break;
    }
    case State::kEstablished:
    case State::kDreqSent: {
      // The peer never took our RTU, or it gave up: there is nothing to talk to.
      const CommunicationId id = connection->local_id;
      const bool is_released = connection->is_released;
      enter_timewait(*connection, in.now);
      if (!is_released) consumer_.on_disconnected(id, true);
      break;
    }
    default:
      count_unexpected();
  }
}

CommunicationId CommunicationManager::find_by_peer(const Rej& rej) const {
  const std::uint64_t guid = transport::wire::load_u64(rej.information, 0);
  const auto found = by_peer_id_.find({guid, transport::to_integer(rej.local_id)});
  return found == by_peer_id_.end() ? CommunicationId{} : found->second;
}

void CommunicationManager::on_message(const Mra& mra, const Incoming& in) {
  Connection* const connection = expect(mra.remote_id, mra.local_id, in.from);
  if (connection == nullptr) return;
  const bool waits_for_rep = connection->state == State::kReqSent && mra.answered == Answered::kReq;
  const bool waits_for_rtu = connection->state == State::kRepSent && mra.answered == Answered::kRep;
  if (!waits_for_rep && !waits_for_rtu) return count_unexpected();
  connection->is_awaited = true;
  wait(*connection, in.now + timeout_of(mra.service_timeout) + connection->timewait);
}

void CommunicationManager::on_message(const Dreq& dreq, const Incoming& in) {
  Connection* const connection = find_mutable(dreq.remote_id);
  if (connection == nullptr) {
    // The peer asks for what is over; a DREP lets it end, too (CM.md 3).
    count_unexpected();
    const Drep drep{.local_id = dreq.remote_id, .remote_id = dreq.local_id};
    return send({.source = in.from.destination, .destination = in.from.source, .mac = in.from.mac},
                write({.transaction_id = in.transaction_id, .message = drep}));
  }
  const bool is_ours = connection->path.destination == in.from.source &&
                       connection->local_qp == dreq.remote_qp && connection->remote_id == dreq.local_id;
  if (!is_ours) return count_unexpected();
  const CommunicationId id = connection->local_id;
  switch (connection->state) {
    case State::kRepSent:
    case State::kEstablished:
    case State::kRepReceived:
      connection->transaction_id = in.transaction_id;
      set_state(*connection, State::kDreqReceived);
      wait(*connection, kNever);
      if (connection->is_released) return send_drep(*connection, in.now);
      consumer_.on_disconnect_request(id);
      break;
    case State::kDreqSent: {
      // Both ask at once: each answers, and neither waits for the other's answer.
      const bool is_released = connection->is_released;
      connection->transaction_id = in.transaction_id;
      send_drep(*connection, in.now);
      if (!is_released) consumer_.on_disconnected(id, true);
      break;
    }
    case State::kTimewait:
    case State::kAnswered: {
      count_duplicate(in);
      const Drep drep{.local_id = connection->local_id, .remote_id = connection->remote_id};
      send(connection->path, write({.transaction_id = in.transaction_id, .message = drep}));
      break;
    }
    case State::kDreqReceived:
      count_duplicate(in);
      break;
    default:
      count_unexpected();
  }
}

void CommunicationManager::on_message(const Drep& drep, const Incoming& in) {
  Connection* const connection = expect(drep.remote_id, drep.local_id, in.from);
  if (connection == nullptr) return;
  if (connection->state == State::kTimewait) {
    count_duplicate(in);
    return;
  }
  if (connection->state != State::kDreqSent) return count_unexpected();
  const CommunicationId id = connection->local_id;
  const bool is_released = connection->is_released;
  enter_timewait(*connection, in.now);
  if (!is_released) consumer_.on_disconnected(id, true);
}

// --- SIDR ---

void CommunicationManager::on_message(const SidrReq& request, const Incoming& in) {
  const PeerKey key = sidr_key(in.from.source, request.request_id);
  const auto known = by_sidr_request_.find(key);
  if (known != by_sidr_request_.end()) {
    count_duplicate(in);
    const Connection& connection = connections_.at(static_cast<std::uint32_t>(known->second));
    if (connection.state == State::kAnswered) send_last(connection);
    return;
  }
  Connection* const connection = add(State::kSidrReqReceived);
  if (connection == nullptr) return;
  connection->remote_id = request.request_id;
  connection->transaction_id = in.transaction_id;
  connection->path = {.source = in.from.destination, .destination = in.from.source, .mac = in.from.mac};
  by_sidr_request_[key] = connection->local_id;

  const CommunicationId id = connection->local_id;
  const SidrDecision decision = consumer_.on_sidr_request(id, request, in.from, in.now);
  if (decision.kind == Decision::Kind::kPending) return;
  const MadPath path = connections_.at(static_cast<std::uint32_t>(id)).path;
  forget(connections_.at(static_cast<std::uint32_t>(id)));
  if (decision.kind == Decision::Kind::kIgnore) return;
  const SidrRep reply{
      .request_id = request.request_id, .status = decision.status, .service_id = request.service_id};
  send(path, write({.transaction_id = in.transaction_id, .message = reply}));
}

void CommunicationManager::on_message(const SidrRep& reply, const Incoming& in) {
  Connection* const connection = expect(reply.request_id, {}, in.from);
  if (connection == nullptr) return;
  if (connection->state != State::kSidrReqSent) return count_unexpected();
  const CommunicationId id = connection->local_id;
  forget(*connection);
  consumer_.on_sidr_reply(id, reply);
}

void CommunicationManager::on_message(const AlternatePath&, const Incoming&) {
  count_unexpected();
}

}  // namespace urnic::nic::cm
