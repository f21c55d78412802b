// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RdmaCm: what the kernel's rdma_cm does for programs.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <variant>

#include "nic/cm/communication_manager.h"
#include "nic/cm/consumer.h"
#include "nic/config.h"
#include "nic/path/gid_table.h"
#include "nic/path/multicast_reports.h"
#include "nic/path/neighbor_cache.h"
#include "nic/port/host_route.h"
#include "nic/port/number_share.h"
#include "nic/rdma_cm/connection_failure.h"
#include "nic/rdma_cm/event_channel.h"
#include "nic/rdma_cm/id.h"
#include "nic/rdma_cm/id_snapshot.h"
#include "nic/rdma_cm/kept_id.h"
#include "nic/rdma_cm/peer_probes.h"
#include "nic/rdma_cm/port_question.h"
#include "nic/rdma_cm/port_table.h"
#include "nic/rdma_cm/shared_host.h"
#include "nic/rdma_cm/types.h"
#include "transport/result.h"
#include "transport/time.h"

namespace urnic::nic::rdma_cm {

/// One method for each command of the kernel's ucma interface, with its meaning and its errors, so that an
/// adapter needs to translate numbers only. An id belongs to a channel: ENOENT for a number that names none,
/// EINVAL for an id of another channel or in a state in which it cannot do what is asked.
///
/// Sans-I/O, as the transport is: time is passed in. All calls under the engine lock.
class RdmaCm final : private cm::Consumer {
 public:
  using Uid = std::uint64_t;

  /// All must outlive it. The neighbor cache finds the stations that addresses belong to; `reports` is told
  /// about members of multicast groups.
  RdmaCm(const DeviceConfig& config, const GidTable& gids, NeighborCache& neighbors,
         MulticastReports& reports);

  /// The NIC has been started. `host` is null where no other NIC shares its addresses, `routes` empty where
  /// they are its own.
  void use(NumberShare numbers, std::unique_ptr<SharedHost> host, HostRoutes routes);

  /// Where the NIC's addresses are the host's: an address is resolved when its next hop is known, and what
  /// ICMP says of the host ends a resolution or a request.
  void probe_by(HostProbes probes) { probes_.use(std::move(probes)); }

  // --- Ids ---

  /// `uid` comes back in each event of the id. EINVAL: a datagram service in the TCP port space, or another
  /// in UDP's; ENOMEM: too many.
  Result<IdNumber, Error> create_id(EventChannel& channel, Uid uid, PortSpace space, Service service);
  bool has(const EventChannel& channel, IdNumber id) const;
  /// Ends what the id is in the middle of: a connection is disconnected, a request rejected. Returns how many
  /// of its events were fetched, and forgets those that were not.
  Result<std::uint32_t, Error> destroy_id(EventChannel& channel, IdNumber id, transport::Time now);
  /// Moves the id and its events to the channel `to`. Returns how many of its events were fetched from the
  /// old one.
  Result<std::uint32_t, Error> migrate_id(EventChannel& from, IdNumber id, EventChannel& to);
  /// The program closed the channel: destroys some of its ids, and says whether it has more. To be called
  /// until it has none; others get the engine lock in between, and messages leave.
  [[nodiscard]] bool end_some_of(EventChannel& channel, transport::Time now);
  /// The program ends: the same for all ids, of whatever channel, so that their peers notice.
  [[nodiscard]] bool end_some(transport::Time now);

  // --- For another device that has the id, too, and for the child of a fork, which has its parent's ids ---

  /// EINVAL: the id has a peer, or looks for one.
  Result<KeptId, Error> kept(EventChannel& channel, IdNumber id) const;
  /// Makes a fresh id with the number and the options that it had; what it was bound to, and its backlog, are
  /// left to bind() and listen(). EEXIST: there is one with that number.
  Result<void, Error> make_again(EventChannel& channel, const KeptId& id);

  // --- Addresses ---

  /// How near an address is to this NIC. Of the NICs of a process the nearest one is for it.
  enum class Nearness : std::uint8_t {
    kElsewhere,
    kOnNetwork,  ///< of the NIC, or the host's routes lead there from an address of the NIC
    kOwn,        ///< an address of the NIC
  };
  /// The NIC must have been started.
  Nearness nearness_of(const SocketAddress& address) const;

  /// The interface that has this address has another MAC now: ids at the address are told (kAddressChange).
  /// The kernel tells when a bond fails over to a card with another MAC; here any interface will do.
  void on_address_moved(const transport::wire::Gid& address);

  /// The host, where other NICs share its addresses; otherwise null. It lives as long as the NIC.
  SharedHost* host() const { return host_.get(); }
  /// Brings the host's answer to a question that a command returned; then the command is given again, in the
  /// same hold of the lock. The error is the host's: the command has failed. ENOENT: the program has
  /// destroyed the id meanwhile.
  Result<void, Error> answer(const PortQuestion& question, const PortAnswer& answer);

  /// EADDRNOTAVAIL: not an address of this NIC; EINVAL, ENODEV: a link-local address without its interface,
  /// or on another one; EADDRINUSE, and EADDRNOTAVAIL if one of the two addresses is any: the port is in use;
  /// EACCES never: there are no privileged ports. Port 0 chooses one. The NIC must have been started.
  Step bind(EventChannel& channel, IdNumber id, const SocketAddress& address);
  /// Answered by kAddressResolved, or kAddressError with -ETIMEDOUT, -ENETUNREACH (no address of that family,
  /// or no route), -EHOSTUNREACH (no host answers, or ICMP says so), or what else a route or ICMP says.
  /// `source` may have no family: chosen then. The NIC must have been started.
  Step resolve_address(EventChannel& channel, IdNumber id, const SocketAddress& source,
                       const SocketAddress& destination, std::chrono::milliseconds timeout,
                       transport::Time now);
  /// Answered by kRouteResolved.
  Result<void, Error> resolve_route(EventChannel& channel, IdNumber id, std::chrono::milliseconds timeout);
  Result<Description, Error> query(EventChannel& channel, IdNumber id) const;

  // --- Options; EINVAL where Linux says so ---

  Result<void, Error> set_type_of_service(EventChannel& channel, IdNumber id, std::uint8_t tos);
  Result<void, Error> set_reuse_address(EventChannel& channel, IdNumber id, bool reuse);
  Result<void, Error> set_address_family_only(EventChannel& channel, IdNumber id, bool only);
  /// 4.096 us x 2^timeout, at most 31.
  Result<void, Error> set_ack_timeout(EventChannel& channel, IdNumber id, std::uint8_t timeout);

  // --- Connections ---

  /// Backlog 0, or more than 1024, means 1024. Binds an id that is not bound.
  Step listen(EventChannel& channel, IdNumber id, std::uint32_t backlog);
  /// EINVAL: too much private data.
  Result<void, Error> connect(EventChannel& channel, IdNumber id, const ConnectionParameters& parameters,
                              transport::Time now);
  /// Of the passive side: sends REP (or SIDR_REP). From now on the id's events carry `uid`.
  Result<void, Error> accept(EventChannel& channel, IdNumber id, Uid uid,
                             const ConnectionParameters& parameters, transport::Time now);
  /// Of the active side after kConnectResponse: the program's queue pair is ready, RTU may leave.
  Result<void, Error> establish(EventChannel& channel, IdNumber id);
  /// `reason` 0 means "consumer defined".
  Result<void, Error> reject(EventChannel& channel, IdNumber id, std::uint8_t reason,
                             std::span<const std::byte> private_data, transport::Time now);
  /// Sends DREQ, or answers the peer's.
  Result<void, Error> disconnect(EventChannel& channel, IdNumber id, transport::Time now);
  /// The program got an asynchronous event of its queue pair. Only "communication established" means
  /// anything; EINVAL for others.
  enum class QpNotice : std::uint8_t { kCommunicationEstablished, kOther };
  Result<void, Error> notify(EventChannel& channel, IdNumber id, QpNotice notice);
  Result<QpSettings, Error> init_qp_attributes(EventChannel& channel, IdNumber id,
                                               transport::QpState state) const;

  // --- Multicast ---

  /// Answered by kMulticastJoin, with `uid` and the number that leave() takes. A send-only member receives
  /// nothing, and nothing is reported of it. ENOMEM: too many ids, memberships or groups.
  Result<IdNumber, Error> join(EventChannel& channel, IdNumber id, Uid uid, const SocketAddress& group,
                               bool is_send_only, transport::Time now);
  /// `membership` is what join() returned. Returns how many of its events were fetched.
  Result<std::uint32_t, Error> leave(EventChannel& channel, IdNumber membership, transport::Time now);

  // --- Events ---

  /// Tells the program that what it wanted of the id has failed, although nothing was done. The id stays as
  /// it is.
  Result<void, Error> tell_failure(EventChannel& channel, IdNumber id, EventType type, int status);
  /// The oldest event, which counts as fetched.
  std::optional<Event> next_event(EventChannel& channel);

  // --- For the engine ---

  /// Messages come and go here.
  cm::CommunicationManager& messages() { return messages_; }
  const cm::CommunicationManager& messages() const { return messages_; }
  void on_timeout(transport::Time now);
  transport::Time next_timeout() const;

  // --- For people who watch ---

  /// Every id, by number.
  const std::map<IdNumber, Id>& ids() const { return ids_; }
  IdSnapshot snapshot(const Id& id) const;
  /// It must live as long as anything happens here.
  void set_observer(ConnectionObserver& observer) { observer_ = &observer; }

 private:
  struct Membership {
    IdNumber number{};
    IdNumber id{};
    SocketAddress group;
    bool is_send_only = false;
    std::uint32_t fetched_events = 0;
  };

  using Request = std::variant<cm::Req, cm::SidrReq>;
  /// For a port where no id listens yet.
  struct EarlyRequest {
    cm::CommunicationId id{};
    Request request;
    cm::Arrival from;
    transport::Time until{};
  };

  /// A request to a host that is not there, or says that it has no RoCEv2. It is sent a few times more, and
  /// ends soon unless the peer answers after all.
  struct Doubt {
    IdNumber id{};
    cm::CommunicationId request{};
    int code = 0;  ///< errno value
    int repeats_left = 0;
    transport::Time until{};
  };

  // cm::Consumer
  cm::Decision on_request(cm::CommunicationId id, const cm::Req& req, const cm::Arrival& from,
                          transport::Time now) override;
  void on_refused(const cm::Req& req, cm::RejectReason reason, const cm::Arrival& from) override;
  void on_reply(cm::CommunicationId id, const cm::Rep& rep) override;
  void on_ready(cm::CommunicationId id) override;
  void on_rejected(cm::CommunicationId id, const cm::Rej& rej) override;
  void on_unanswered(cm::CommunicationId id, const cm::Silence& silence) override;
  void on_disconnect_request(cm::CommunicationId id) override;
  void on_disconnected(cm::CommunicationId id, bool is_answered) override;
  void on_timewait_exit(cm::CommunicationId id) override;
  cm::SidrDecision on_sidr_request(cm::CommunicationId id, const cm::SidrReq& request,
                                   const cm::Arrival& from, transport::Time now) override;
  void on_sidr_reply(cm::CommunicationId id, const cm::SidrRep& reply) override;

  Result<Id*, Error> find(EventChannel& channel, IdNumber number);
  Result<const Id*, Error> find(EventChannel& channel, IdNumber number) const;
  Id* find(cm::CommunicationId id);
  Id* add_id(EventChannel& channel, Uid uid, PortSpace space, Service service);
  Id& add_id(EventChannel& channel, Uid uid, PortSpace space, Service service, IdNumber number);
  std::optional<IdNumber> free_number();
  void end(Id& id, transport::Time now);
  void end(const Membership& membership, EventChannel& channel, transport::Time now);
  void tie(Id& id, cm::CommunicationId to);
  void untie(Id& id);
  void reject_unanswerable(Id& id, transport::Time now);
  void tell(Id& id, EventType type, int status = 0);
  void tell(Id& id, Event event);

  Step bind_id(Id& id, SocketAddress address);
  Result<std::optional<std::uint16_t>, Error> take_port(Id& id, PortTable::Binding binding);
  Result<std::optional<std::uint16_t>, Error> take_port_of_host(Id& id, const PortTable::Binding& binding);
  void give_port_back(const Id& id, std::uint16_t port);
  PortTable::Binding binding_of(const Id& id, const SocketAddress& address) const;
  std::optional<SocketAddress> own_address(const SocketAddress& like) const;
  Result<SocketAddress, ConnectionFailure> source_towards(const Id& id, const SocketAddress& peer) const;
  transport::PathMtu path_mtu_to(const SocketAddress& peer) const;
  Result<void, Error> check_own(const SocketAddress& address) const;
  bool may_prepare(const Id& id, transport::QpState state) const;
  void check_resolution(Id& id, transport::Time now);
  void check_resolutions(transport::Time now);
  void end_resolution(Id& id, IdState state);
  void fail_resolution(Id& id, const ConnectionFailure& failure);
  void check_probed(transport::Time now);
  void doubt_if_refused(Id& id, transport::Time now);
  void settle_doubts(transport::Time now);
  PathRecord path_between(const Id& id) const;

  Result<void, Error> connect_datagrams(Id& id, const ConnectionParameters& parameters, transport::Time now);
  cm::Decision offer(cm::CommunicationId id, const cm::Req& req, const cm::Arrival& from);
  cm::SidrDecision offer(cm::CommunicationId id, const cm::SidrReq& request, const cm::Arrival& from);
  void on_refused(const cm::SidrReq& request, const cm::Arrival& from);
  void offer_early_requests();
  void settle_early_requests(transport::Time now);
  void settle(const EarlyRequest& early, const cm::Req& request, transport::Time now);
  void settle(const EarlyRequest& early, const cm::SidrReq& request, transport::Time now);
  Id* find_listener(cm::ServiceId service, const SocketAddress& destination);
  Id* add_request(Id& listener, cm::CommunicationId id, Service service, const SocketAddress& local,
                  const SocketAddress& peer);
  void tell_listener(Id& listener, Id& request, const ConnectionParameters& parameters);
  void tell_once_disconnected(Id& id, int status);
  /// Of an id of ours: fills in what is known of it.
  void report(const Id& id, ConnectionFailure failure) const;
  /// Of a request of a peer's that has no id.
  void report(const cm::Arrival& from, cm::ServiceId service, ConnectionFailure failure) const;
  AddressVector address_to_peer(const Id& id) const;
  std::uint32_t random();

  const DeviceConfig& config_;
  const GidTable& gids_;
  NeighborCache& neighbors_;
  MulticastReports& reports_;
  cm::CommunicationManager messages_;
  PortTable ports_;
  std::unique_ptr<SharedHost> host_;
  HostRoutes routes_;
  PeerProbes probes_;
  std::map<IdNumber, Id> ids_;
  std::map<IdNumber, Membership> memberships_;
  std::unordered_map<std::uint32_t, IdNumber> by_communication_id_;
  std::set<std::pair<transport::Time, IdNumber>> resolving_;  // ids, by their deadlines
  std::uint32_t neighbor_generation_ = 0;                     // up to which they were looked at
  std::deque<EarlyRequest> early_requests_;                   // the oldest first
  std::deque<Doubt> doubts_;                                  // the oldest first
  ConnectionObserver* observer_ = nullptr;
  std::uint32_t last_number_ = 0;
  std::mt19937_64 random_;
};

}  // namespace urnic::nic::rdma_cm
