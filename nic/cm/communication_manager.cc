// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/cm/communication_manager.h"

#include <random>
#include <variant>

#include "nic/cm/timing.h"
#include "transport/wire/byte_order.h"

namespace urnic::nic::cm {

using transport::Duration;
using transport::kNever;
using transport::Time;
using transport::to_integer;

namespace {

/// Different from the other streams that are drawn from a device's seed.
constexpr std::uint64_t kStream = 0x636f6d6d;

constexpr unsigned kIdBits = 32;

/// What a REJ for a timeout says besides: the GUID of the side that waited.
void put_guid(Rej& rej, std::uint64_t guid) {
  transport::wire::store_u64(rej.information, 0, guid);
  rej.information_length = sizeof(guid);
}

/// Another connection may have taken the place.
template <typename Key>
void erase_if_it_is(std::map<Key, CommunicationId>& map, const Key& key, const Connection& connection) {
  const auto found = map.find(key);
  if (found != map.end() && found->second == connection.local_id) map.erase(found);
}

Answered what_is_answered(const Connection& connection) {
  if (connection.state == State::kReqReceived) return Answered::kReq;
  if (connection.state == State::kRepReceived) return Answered::kRep;
  return Answered::kOther;
}

}  // namespace

CommunicationManager::CommunicationManager(std::uint64_t ca_guid, std::uint64_t seed, Consumer& consumer)
    : ca_guid_(ca_guid), consumer_(consumer) {
  std::mt19937_64 random(seed ^ kStream);
  next_id_ = static_cast<std::uint32_t>(random());
  next_transaction_id_ = random();
}

// --- Connections ---

Connection* CommunicationManager::add(State state) {
  if (connections_.size() >= kMaxConnections) return nullptr;
  std::uint32_t id = 0;
  // Zero stands for "none" in a REJ.
  while (id == 0 || connections_.contains(id)) id = share_.own(++next_id_, kIdBits);
  Connection& connection = connections_[id];
  connection.local_id = CommunicationId{id};
  connection.state = state;
  return &connection;
}

Connection* CommunicationManager::find_mutable(CommunicationId id) {
  const auto found = connections_.find(to_integer(id));
  return found == connections_.end() ? nullptr : &found->second;
}

const Connection* CommunicationManager::find(CommunicationId id) const {
  const auto found = connections_.find(to_integer(id));
  return found == connections_.end() ? nullptr : &found->second;
}

/// Every change of a connection that has a peer goes through here.
void CommunicationManager::set_state(Connection& connection, State state) {
  connection.state = state;
  note_farewell(connection);
}

void CommunicationManager::note_farewell(const Connection& connection) {
  if (farewells_ == nullptr) return;
  const auto farewell = farewell_of(connection);
  if (!farewell) return farewells_->forget(connection.local_id);
  // A DREQ that was sent is repeated as it was.
  const bool is_request = std::holds_alternative<Dreq>(*farewell);
  const bool was_sent = connection.state == State::kDreqSent;
  const std::uint64_t transaction_id =
      is_request && !was_sent ? next_transaction_id() : connection.transaction_id;
  farewells_->keep(connection.local_id,
                   {.mad = {.path = connection.path,
                            .bytes = write({.transaction_id = transaction_id, .message = *farewell})},
                    .pause = is_request ? connection.interval : transport::Duration::zero(),
                    .was_sent = was_sent});
}

/// As release() and reject() have it.
std::optional<Message> CommunicationManager::farewell_of(const Connection& connection) const {
  const CommunicationId own = connection.local_id;
  const CommunicationId peers = connection.remote_id;
  switch (connection.state) {
    case State::kReqSent: {
      Rej rej{.local_id = own, .answered = Answered::kOther, .reason = RejectReason::kTimeout};
      put_guid(rej, ca_guid_);
      return rej;
    }
    case State::kReqReceived:
      return Rej{.remote_id = peers, .answered = Answered::kReq, .reason = RejectReason::kConsumerDefined};
    case State::kRepReceived:
    case State::kRepSent:
      return Rej{.local_id = own,
                 .remote_id = peers,
                 .answered = what_is_answered(connection),
                 .reason = RejectReason::kConsumerDefined};
    case State::kEstablished:
    case State::kDreqSent:
      return Dreq{.local_id = own, .remote_id = peers, .remote_qp = connection.remote_qp};
    case State::kDreqReceived:
      return Drep{.local_id = own, .remote_id = peers};
    case State::kTimewait:
    case State::kSidrReqSent:
    case State::kSidrReqReceived:
    case State::kAnswered:
      break;
  }
  return std::nullopt;
}

void CommunicationManager::forget(Connection& connection) {
  if (farewells_ != nullptr) farewells_->forget(connection.local_id);
  wait(connection, kNever);
  forget_peer(connection);
  erase_if_it_is(by_sidr_request_, sidr_key(connection.path.destination, connection.remote_id), connection);
  connections_.erase(to_integer(connection.local_id));
}

PeerKey CommunicationManager::sidr_key(const transport::wire::Gid& sender, CommunicationId request_id) {
  return {transport::wire::load_u64(std::as_bytes(std::span(sender.octets)), 8), to_integer(request_id)};
}

void CommunicationManager::remember_peer(const Connection& connection) {
  if (!connection.is_active) by_peer_id_[connection.peer_id()] = connection.local_id;
  by_peer_qp_[connection.peer_qp()] = connection.local_id;
}

void CommunicationManager::forget_peer(const Connection& connection) {
  erase_if_it_is(by_peer_id_, connection.peer_id(), connection);
  erase_if_it_is(by_peer_qp_, connection.peer_qp(), connection);
}

void CommunicationManager::wait(Connection& connection, Time until) {
  const std::uint32_t id = to_integer(connection.local_id);
  if (connection.deadline != kNever) deadlines_.erase({connection.deadline, id});
  connection.deadline = until;
  if (until != kNever) deadlines_.insert({until, id});
}

std::uint64_t CommunicationManager::next_transaction_id() {
  return next_transaction_id_++;
}

// --- Sending ---

void CommunicationManager::send(const MadPath& path, const MadBytes& bytes) {
  // The side that waits for an answer to what is lost here sends again.
  if (outgoing_.size() >= kMaxOutgoing) return counters_.add_dropped();
  outgoing_.push_back({.path = path, .bytes = bytes});
  counters_.add(CounterGroup::kSent, kind_of(bytes));
}

void CommunicationManager::send_last(const Connection& connection) {
  send(connection.path, connection.last);
}

void CommunicationManager::send_once(Connection& connection, const Message& message) {
  connection.last = write({.transaction_id = connection.transaction_id, .message = message});
  send_last(connection);
}

void CommunicationManager::send_until_answered(Connection& connection, const Message& message, Time now) {
  send_once(connection, message);
  connection.retries = connection.max_retries;
  wait(connection, now + connection.interval);
}

void CommunicationManager::send_dreq(Connection& connection, Time now) {
  connection.transaction_id = next_transaction_id();
  set_state(connection, State::kDreqSent);
  send_until_answered(connection,
                      Dreq{.local_id = connection.local_id,
                           .remote_id = connection.remote_id,
                           .remote_qp = connection.remote_qp},
                      now);
}

void CommunicationManager::send_drep(Connection& connection, Time now) {
  send_once(connection, Drep{.local_id = connection.local_id, .remote_id = connection.remote_id});
  enter_timewait(connection, now);
}

void CommunicationManager::enter_timewait(Connection& connection, Time now) {
  set_state(connection, State::kTimewait);
  // The peer may connect its queue pair again at once, as with Linux' ib_cm (cm.c, cm_enter_timewait()).
  erase_if_it_is(by_peer_qp_, connection.peer_qp(), connection);
  wait(connection, now + connection.timewait);
}

/// The connection is over; the peer may ask for the reason once more.
void CommunicationManager::keep_answer(Connection& connection, const Message& answer, Time now) {
  send_once(connection, answer);
  set_state(connection, State::kAnswered);
  connection.is_released = true;
  // The peer may ask for its queue pair again under another ID.
  erase_if_it_is(by_peer_qp_, connection.peer_qp(), connection);
  wait(connection, now + kAnswerLifetime);
}

// --- Time ---

Time CommunicationManager::next_timeout() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first;
}

void CommunicationManager::on_timeout(Time now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Connection& connection = connections_.at(deadlines_.begin()->second);
    switch (connection.state) {
      case State::kReqSent:
      case State::kRepSent:
      case State::kDreqSent:
      case State::kSidrReqSent:
        repeat(connection, now);
        break;
      case State::kTimewait: {
        const CommunicationId id = connection.local_id;
        const bool is_released = connection.is_released;
        forget(connection);
        if (!is_released) consumer_.on_timewait_exit(id);
        break;
      }
      case State::kAnswered:
        forget(connection);
        break;
      case State::kReqReceived:
      case State::kRepReceived:
      case State::kEstablished:
      case State::kDreqReceived:
      case State::kSidrReqReceived:
        wait(connection, kNever);
    }
  }
}

void CommunicationManager::repeat(Connection& connection, Time now) {
  if (connection.retries == 0) return give_up(connection, now);
  --connection.retries;
  counters_.add(CounterGroup::kRepeated, kind_of(connection.last));
  send_last(connection);
  wait(connection, now + connection.interval);
}

void CommunicationManager::give_up(Connection& connection, Time now) {
  const CommunicationId id = connection.local_id;
  const bool is_released = connection.is_released;
  if (connection.state == State::kDreqSent) {
    enter_timewait(connection, now);
    if (!is_released) consumer_.on_disconnected(id, false);
    return;
  }
  if (connection.state != State::kSidrReqSent) {
    // The peer may be slow and not dead.
    Rej rej{.local_id = id,
            .remote_id = connection.remote_id,
            .answered = Answered::kOther,
            .reason = RejectReason::kTimeout};
    put_guid(rej, ca_guid_);
    send_once(connection, rej);
  }
  const Silence silence{.messages = connection.max_retries + 1u,
                        .waited = (connection.max_retries + 1) * connection.interval};
  forget(connection);
  if (!is_released) consumer_.on_unanswered(id, silence);
}

// --- What the consumer asks for ---

std::optional<CommunicationId> CommunicationManager::request(Req req, const MadPath& path, Time now) {
  Connection* const connection = add(State::kReqSent);
  if (connection == nullptr) return std::nullopt;
  connection->is_active = true;
  connection->transaction_id = next_transaction_id();
  connection->path = path;
  connection->local_qp = req.local_qp;
  connection->max_retries = kMaxRetries;
  // What it takes to get there and back comes on top, as in Linux.
  connection->interval = timeout_of(kResponseTimeout) + 2 * timeout_of(kPacketLifeTime);
  connection->timewait = timeout_of(req.path.local_ack_timeout);

  req.local_id = connection->local_id;
  req.local_ca_guid = ca_guid_;
  req.remote_response_timeout = kResponseTimeout;
  req.local_response_timeout = kResponseTimeout;
  req.max_cm_retries = kMaxRetries;
  send_until_answered(*connection, req, now);
  note_farewell(*connection);
  return connection->local_id;
}

void CommunicationManager::repeat_early(CommunicationId id) {
  const Connection* const connection = find(id);
  if (connection == nullptr) return;
  if (connection->state != State::kReqSent && connection->state != State::kSidrReqSent) return;
  counters_.add(CounterGroup::kRepeated, kind_of(connection->last));
  send_last(*connection);
}

void CommunicationManager::accept(CommunicationId id, Rep rep, Time now) {
  Connection* const connection = find_mutable(id);
  if (connection == nullptr || connection->state != State::kReqReceived) return;
  set_state(*connection, State::kRepSent);
  connection->local_qp = rep.local_qp;
  connection->receive_psn = rep.starting_psn;
  unconfirmed_.push_back(id);
  rep.local_id = id;
  rep.remote_id = connection->remote_id;
  rep.local_ca_guid = ca_guid_;
  send_until_answered(*connection, rep, now);
}

void CommunicationManager::ignore(CommunicationId id) {
  Connection* const connection = find_mutable(id);
  if (connection == nullptr) return;
  const bool is_undecided =
      connection->state == State::kReqReceived || connection->state == State::kSidrReqReceived;
  if (is_undecided) forget(*connection);
}

void CommunicationManager::ready(CommunicationId id) {
  Connection* const connection = find_mutable(id);
  if (connection == nullptr || connection->state != State::kRepReceived) return;
  set_state(*connection, State::kEstablished);
  wait(*connection, kNever);
  send_once(*connection, Rtu{.local_id = id, .remote_id = connection->remote_id});
}

void CommunicationManager::reject(CommunicationId id, Rej rej, Time now) {
  Connection* const connection = find_mutable(id);
  if (connection == nullptr) return;
  const bool is_undecided = connection->state == State::kReqReceived ||
                            connection->state == State::kRepSent || connection->state == State::kRepReceived;
  if (!is_undecided) return;
  rej.answered = what_is_answered(*connection);
  // The peer does not know an ID of ours before REP (fact 46).
  rej.local_id = connection->state == State::kReqReceived ? CommunicationId{} : id;
  rej.remote_id = connection->remote_id;
  keep_answer(*connection, rej, now);
}

bool CommunicationManager::disconnect(CommunicationId id, Time now) {
  Connection* const connection = find_mutable(id);
  if (connection == nullptr) return false;
  if (connection->state == State::kDreqReceived) {
    send_drep(*connection, now);
    return true;
  }
  if (connection->state != State::kEstablished && connection->state != State::kRepSent) return false;
  send_dreq(*connection, now);
  return true;
}

bool CommunicationManager::establish(CommunicationId id) {
  Connection* const connection = find_mutable(id);
  if (connection == nullptr || connection->state != State::kRepSent) return false;
  set_state(*connection, State::kEstablished);
  wait(*connection, kNever);
  if (!connection->is_released) consumer_.on_ready(id);
  return true;
}

const Connection* CommunicationManager::next_unconfirmed() {
  while (!unconfirmed_.empty()) {
    const CommunicationId id = unconfirmed_.front();
    unconfirmed_.pop_front();
    const Connection* const connection = find(id);
    if (connection == nullptr || connection->state != State::kRepSent) continue;
    unconfirmed_.push_back(id);
    return connection;
  }
  return nullptr;
}

void CommunicationManager::release(CommunicationId id, Time now) {
  Connection* const connection = find_mutable(id);
  if (connection == nullptr || connection->is_released) return;
  connection->is_released = true;
  switch (connection->state) {
    case State::kReqSent: {
      Rej rej{.local_id = id, .answered = Answered::kOther, .reason = RejectReason::kTimeout};
      put_guid(rej, ca_guid_);
      send_once(*connection, rej);
      forget(*connection);
      break;
    }
    case State::kReqReceived:
    case State::kRepReceived:
    case State::kRepSent:
      reject(id, {.reason = RejectReason::kConsumerDefined}, now);
      break;
    case State::kEstablished:
      send_dreq(*connection, now);
      break;
    case State::kDreqReceived:
      send_drep(*connection, now);
      break;
    case State::kSidrReqSent:
      forget(*connection);
      break;
    case State::kSidrReqReceived:
      sidr_reply(id, {.status = SidrStatus::kReject}, now);
      break;
    case State::kDreqSent:
    case State::kTimewait:
    case State::kAnswered:
      break;
  }
}

std::optional<CommunicationId> CommunicationManager::sidr_request(SidrReq request, const MadPath& path,
                                                                  Time now) {
  Connection* const connection = add(State::kSidrReqSent);
  if (connection == nullptr) return std::nullopt;
  connection->is_active = true;
  connection->transaction_id = next_transaction_id();
  connection->path = path;
  connection->max_retries = kMaxRetries;
  connection->interval = timeout_of(kResponseTimeout);
  request.request_id = connection->local_id;
  send_until_answered(*connection, request, now);
  return connection->local_id;
}

void CommunicationManager::sidr_reply(CommunicationId id, SidrRep reply, Time now) {
  Connection* const connection = find_mutable(id);
  if (connection == nullptr || connection->state != State::kSidrReqReceived) return;
  reply.request_id = connection->remote_id;
  keep_answer(*connection, reply, now);
}

}  // namespace urnic::nic::cm
