// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CommunicationManager: connects queue pairs by messages between the QP 1 of two ports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "nic/cm/connection.h"
#include "nic/cm/consumer.h"
#include "nic/cm/counters.h"
#include "nic/cm/farewell_keeper.h"
#include "nic/cm/message.h"
#include "nic/cm/types.h"
#include "nic/port/number_share.h"
#include "transport/time.h"

namespace urnic::nic::cm {

/// The state machine of IBTA's communication manager, as Linux' ib_cm is known to behave (facts 44 to 48;
/// CM.md 3). Each message is repeated until it is answered, and one that comes again is answered as
/// before, so that either side may lose, double or reorder messages. Alternate paths are not offered: LAP is
/// refused by silence, as the kernel does on Ethernet.
///
/// Sans-I/O: inputs on_mad() and on_timeout(), outputs pop() and the consumer. All calls under the engine
/// lock.
class CommunicationManager {
 public:
  /// `seed` chooses the communication IDs, which a peer must not meet again after a restart (CM.md 4).
  CommunicationManager(std::uint64_t ca_guid, std::uint64_t seed, Consumer& consumer);

  /// IDs are of this share from now on. There are no connections yet.
  void use(NumberShare share) { share_ = share; }
  /// It must live as long as anything happens here. There are no connections yet.
  void use(FarewellKeeper& keeper) { farewells_ = &keeper; }

  // --- Inputs ---

  /// A datagram that QP 1 received.
  void on_mad(std::span<const std::byte> bytes, const Arrival& from, transport::Time now);
  void on_timeout(transport::Time now);
  transport::Time next_timeout() const;

  // --- What the consumer asks for. An id is valid until the consumer is told that it is not, or releases it.
  // ---

  /// Sends `req`, whose IDs, GUID, timeouts and retries are filled in here. Nothing: too many connections.
  std::optional<CommunicationId> request(Req req, const MadPath& path, transport::Time now);
  /// Sends a request that the peer has not answered once more, besides the repeats that it has by itself.
  void repeat_early(CommunicationId id);
  /// Answers a request by `rep`, whose IDs and GUID are filled in here.
  void accept(CommunicationId id, Rep rep, transport::Time now);
  /// Forgets a request that has not been answered, as if it had not come: the peer asks again. Ends the id.
  void ignore(CommunicationId id);
  /// Answers a reply: RTU.
  void ready(CommunicationId id);
  /// Answers a request or a reply by `rej`, or withdraws ours; its IDs are filled in here. Ends the id.
  void reject(CommunicationId id, Rej rej, transport::Time now);
  /// Sends DREQ, or answers the peer's. False in a state in which neither means anything.
  bool disconnect(CommunicationId id, transport::Time now);
  /// The first data came before the RTU, or without it. False when the connection does not wait for it.
  bool establish(CommunicationId id);
  /// Connections that wait for RTU, and perhaps some that did: the owner asks for them in turns, and says by
  /// establish() that the queue pair of one has received a request, which means as much (fact 47).
  std::size_t unconfirmed_count() const { return unconfirmed_.size(); }
  /// The next one, which waits for RTU; null when there is none.
  const Connection* next_unconfirmed();
  /// The consumer has no use for it any more; ends whatever it is in the middle of.
  void release(CommunicationId id, transport::Time now);

  std::optional<CommunicationId> sidr_request(SidrReq request, const MadPath& path, transport::Time now);
  /// Answers; ends the id.
  void sidr_reply(CommunicationId id, SidrRep reply, transport::Time now);

  // --- Outputs ---

  bool has_outgoing() const { return !outgoing_.empty(); }
  const OutgoingMad& next_outgoing() const { return outgoing_.front(); }
  void pop() { outgoing_.pop_front(); }
  std::size_t outgoing_count() const { return outgoing_.size(); }
  /// There is no room for the next one now: the others go first. Allocates only if memory is moved about in
  /// the queue.
  void put_off() {
    outgoing_.push_back(outgoing_.front());
    outgoing_.pop_front();
  }

  /// Null for an id that means nothing.
  const Connection* find(CommunicationId id) const;
  /// Those that the consumer released included.
  std::size_t connection_count() const { return connections_.size(); }
  /// Any thread.
  const Counters& counters() const { return counters_; }

  static constexpr std::size_t kMaxConnections = 65536;
  static constexpr std::size_t kMaxOutgoing = 8192;

 private:
  // One for each message; see incoming.cc.
  struct Incoming {
    MessageKind kind;
    std::uint64_t transaction_id;
    const Arrival& from;
    transport::Time now;
  };
  void on_message(const Req& req, const Incoming& in);
  void on_message(const Rep& rep, const Incoming& in);
  void on_message(const Rtu& rtu, const Incoming& in);
  void on_message(const Rej& rej, const Incoming& in);
  void on_message(const Mra& mra, const Incoming& in);
  void on_message(const Dreq& dreq, const Incoming& in);
  void on_message(const Drep& drep, const Incoming& in);
  void on_message(const SidrReq& request, const Incoming& in);
  void on_message(const SidrRep& reply, const Incoming& in);
  void on_message(const AlternatePath& path, const Incoming& in);

  void on_repeated_request(Connection& connection, const Req& req, const Incoming& in);
  Connection* find_stale(const Req& req, const Arrival& from);
  void refuse(CommunicationId remote_id, RejectReason reason, const Incoming& in);
  Connection* expect(CommunicationId local_id, CommunicationId remote_id, const Arrival& from);
  void refuse(const Req& req, RejectReason reason, const Incoming& in);
  CommunicationId find_by_peer(const Rej& rej) const;
  void count_duplicate(const Incoming& in) { counters_.add(CounterGroup::kDuplicates, in.kind); }
  void count_unexpected() { counters_.add_unexpected(); }

  Connection* add(State state);
  void set_state(Connection& connection, State state);
  void note_farewell(const Connection& connection);
  std::optional<Message> farewell_of(const Connection& connection) const;
  Connection* find_mutable(CommunicationId id);
  void forget(Connection& connection);
  /// SIDR has no GUID: its requests are told apart by the address of the sender.
  static PeerKey sidr_key(const transport::wire::Gid& sender, CommunicationId request_id);
  void remember_peer(const Connection& connection);
  void forget_peer(const Connection& connection);

  void wait(Connection& connection, transport::Time until);
  /// Sends the message, and again after each interval of the connection.
  void send_until_answered(Connection& connection, const Message& message, transport::Time now);
  void send_once(Connection& connection, const Message& message);
  void send_last(const Connection& connection);
  void send(const MadPath& path, const MadBytes& bytes);
  void repeat(Connection& connection, transport::Time now);
  void give_up(Connection& connection, transport::Time now);
  void send_dreq(Connection& connection, transport::Time now);
  void send_drep(Connection& connection, transport::Time now);
  void keep_answer(Connection& connection, const Message& answer, transport::Time now);
  void enter_timewait(Connection& connection, transport::Time now);
  std::uint64_t next_transaction_id();

  std::uint64_t ca_guid_;
  Consumer& consumer_;
  FarewellKeeper* farewells_ = nullptr;  // null where none is kept
  std::uint32_t next_id_ = 0;
  NumberShare share_;
  std::uint64_t next_transaction_id_ = 0;
  std::unordered_map<std::uint32_t, Connection> connections_;  // by our ID; never iterated
  std::map<PeerKey, CommunicationId> by_peer_id_;              // of the passive side
  std::map<PeerQp, CommunicationId> by_peer_qp_;               // connected, or about to be
  std::map<PeerKey, CommunicationId> by_sidr_request_;         // received, and not forgotten
  std::set<std::pair<transport::Time, std::uint32_t>> deadlines_;
  std::deque<CommunicationId> unconfirmed_;
  std::deque<OutgoingMad> outgoing_;
  Counters counters_;
};

}  // namespace urnic::nic::cm
