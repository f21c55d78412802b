// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/rdma_cm/rdma_cm.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>
#include <vector>

#include "nic/cm/timing.h"
#include "nic/errors.h"
#include "nic/rdma_cm/private_header.h"

namespace urnic::nic::rdma_cm {

using transport::Time;

namespace {

/// Different from the other streams that are drawn from a device's seed.
constexpr std::uint64_t kStream = 0x70736e73;

/// In one hold of the engine lock; a round sends as many messages.
constexpr std::size_t kEndedAtOnce = 16;

}  // namespace

RdmaCm::RdmaCm(const DeviceConfig& config, const GidTable& gids, NeighborCache& neighbors,
               MulticastReports& reports)
    : config_(config),
      gids_(gids),
      neighbors_(neighbors),
      reports_(reports),
      messages_(gids.node_guid(), config.seed, *this),
      ports_(config.seed),
      random_(config.seed ^ kStream) {}

void RdmaCm::use(NumberShare numbers, std::unique_ptr<SharedHost> host, HostRoutes routes) {
  messages_.use(numbers);
  host_ = std::move(host);
  routes_ = std::move(routes);
}

std::uint32_t RdmaCm::random() {
  return static_cast<std::uint32_t>(random_());
}

// --- Ids ---

std::optional<IdNumber> RdmaCm::free_number() {
  // The devices of a process deal the numbers out among them, so that an id can be on any of them.
  const std::uint32_t share = kMaxIds / config_.devices;
  // A number is not given again before all others were.
  for (std::uint32_t tried = 0; tried < share; ++tried) {
    last_number_ = (last_number_ + 1) % share;
    const IdNumber number{last_number_ * config_.devices + config_.number};
    if (!ids_.contains(number) && !memberships_.contains(number)) return number;
  }
  return std::nullopt;
}

Id* RdmaCm::add_id(EventChannel& channel, Uid uid, PortSpace space, Service service) {
  const auto number = free_number();
  return number ? &add_id(channel, uid, space, service, *number) : nullptr;
}

/// With a number that is free.
Id& RdmaCm::add_id(EventChannel& channel, Uid uid, PortSpace space, Service service, IdNumber number) {
  Id& id = ids_[number];
  id.number = number;
  id.channel = &channel;
  channel.ids().insert(number);
  id.uid = uid;
  id.space = space;
  id.service = service;
  return id;
}

Result<IdNumber, Error> RdmaCm::create_id(EventChannel& channel, Uid uid, PortSpace space, Service service) {
  const bool is_for_datagrams = space == PortSpace::kUdp || space == PortSpace::kIpoib;
  const bool fits = space == PortSpace::kIb || is_for_datagrams == (service == Service::kUd);
  if (!fits) return failure(invalid("the port space is for another kind of queue pair"));
  const Id* const id = add_id(channel, uid, space, service);
  if (id == nullptr) return failure(out_of("there are too many ids"));
  return id->number;
}

bool RdmaCm::has(const EventChannel& channel, IdNumber number) const {
  const auto found = ids_.find(number);
  return found != ids_.end() && found->second.channel == &channel;
}

Result<Id*, Error> RdmaCm::find(EventChannel& channel, IdNumber number) {
  const auto found = ids_.find(number);
  if (found == ids_.end()) return failure(Error{.code = ENOENT, .message = "there is no such id"});
  if (found->second.channel != &channel) return failure(invalid("the id is another channel's"));
  return &found->second;
}

Result<const Id*, Error> RdmaCm::find(EventChannel& channel, IdNumber number) const {
  auto found = const_cast<RdmaCm*>(this)->find(channel, number);
  if (!found) return failure(std::move(found).error());
  return found.value();
}

Id* RdmaCm::find(cm::CommunicationId id) {
  const auto found = by_communication_id_.find(transport::to_integer(id));
  return found == by_communication_id_.end() ? nullptr : &ids_.at(found->second);
}

void RdmaCm::tie(Id& id, cm::CommunicationId to) {
  id.cm = to;
  id.is_doubted = false;
  by_communication_id_[transport::to_integer(to)] = id.number;
}

/// The communication manager is done with the connection.
void RdmaCm::untie(Id& id) {
  if (!id.cm) return;
  by_communication_id_.erase(transport::to_integer(*id.cm));
  id.cm.reset();
}

Result<std::uint32_t, Error> RdmaCm::destroy_id(EventChannel& channel, IdNumber number, Time now) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  const std::uint32_t fetched = found.value()->fetched_events;
  end(*found.value(), now);
  return fetched;
}

void RdmaCm::end(Id& id, Time now) {
  for (const EventChannel::Entry& entry : id.channel->take(id.number)) {
    // The program never saw this request, and never will.
    const bool is_request = entry.event.type == EventType::kConnectRequest && ids_.contains(entry.event.id);
    if (is_request) end(ids_.at(entry.event.id), now);
  }
  while (!id.memberships.empty()) end(memberships_.at(*id.memberships.begin()), *id.channel, now);
  if (id.cm) {
    const cm::CommunicationId communication_id = *id.cm;
    untie(id);
    messages_.release(communication_id, now);
  }
  if (id.has_port) {
    ports_.remove(id.space, id.local.port, id.number);
    if (host_ != nullptr) give_port_back(id, id.local.port);
  }
  if (id.granted_port) host_->release(id.space, *id.granted_port, id.number);
  resolving_.erase({id.resolution_deadline, id.number});
  id.channel->ids().erase(id.number);
  ids_.erase(id.number);
}

Result<std::uint32_t, Error> RdmaCm::migrate_id(EventChannel& from, IdNumber number, EventChannel& to) {
  const auto found = find(from, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  if (&from == &to) return id.fetched_events;
  const auto move = [&](Id& moved) {
    from.ids().erase(moved.number);
    to.ids().insert(moved.number);
    moved.channel = &to;
  };
  move(id);
  for (const EventChannel::Entry& entry : from.take(number)) {
    if (entry.event.type == EventType::kConnectRequest) {
      // A program may have ended it, which it must not know yet.
      const auto request = ids_.find(entry.event.id);
      if (request != ids_.end()) move(request->second);
    }
    to.push(entry);
  }
  for (const IdNumber membership : id.memberships) {
    for (const EventChannel::Entry& entry : from.take(membership)) to.push(entry);
  }
  return id.fetched_events;
}

// A listener takes the requests with it that the program did not fetch.
bool RdmaCm::end_some_of(EventChannel& channel, Time now) {
  for (std::size_t i = 0; i < kEndedAtOnce && !channel.ids().empty(); ++i) {
    end(ids_.at(*channel.ids().begin()), now);
  }
  if (!channel.ids().empty()) return true;
  while (channel.pop()) {
  }
  return false;
}

bool RdmaCm::end_some(Time now) {
  for (std::size_t i = 0; i < kEndedAtOnce && !ids_.empty(); ++i) end(ids_.begin()->second, now);
  if (!ids_.empty()) return true;
  // No listener will come.
  for (EarlyRequest& early : early_requests_) early.until = now;
  settle_early_requests(now);
  return false;
}

// --- For the child of a fork ---

Result<KeptId, Error> RdmaCm::kept(EventChannel& channel, IdNumber number) const {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  const Id& id = *found.value();
  const bool is_bound = id.state == IdState::kAddressBound || id.state == IdState::kListen;
  if (id.is_passive || id.cm || (id.state != IdState::kIdle && !is_bound)) {
    return failure(invalid("the id has a peer, or looks for one"));
  }
  KeptId kept{.number = id.number,
              .uid = id.uid,
              .space = id.space,
              .service = id.service,
              .may_share_port = id.may_share_port,
              .is_family_only = id.is_family_only,
              .type_of_service = id.type_of_service,
              .ack_timeout = id.ack_timeout};
  if (is_bound) kept.bound = id.local;
  if (id.state == IdState::kListen) kept.backlog = id.backlog;
  return kept;
}

Result<void, Error> RdmaCm::make_again(EventChannel& channel, const KeptId& kept) {
  if (ids_.contains(kept.number) || memberships_.contains(kept.number)) {
    return failure(Error{.code = EEXIST, .message = "there is an id with that number"});
  }
  Id& id = add_id(channel, kept.uid, kept.space, kept.service, kept.number);
  id.may_share_port = kept.may_share_port;
  id.is_family_only = kept.is_family_only;
  id.type_of_service = kept.type_of_service;
  id.ack_timeout = kept.ack_timeout;
  return success();
}

// --- Options ---

Result<void, Error> RdmaCm::set_type_of_service(EventChannel& channel, IdNumber number, std::uint8_t tos) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  found.value()->type_of_service = tos;
  return success();
}

Result<void, Error> RdmaCm::set_reuse_address(EventChannel& channel, IdNumber number, bool reuse) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  if (found.value()->state != IdState::kIdle) return failure(invalid("the id is bound already"));
  found.value()->may_share_port = reuse;
  return success();
}

Result<void, Error> RdmaCm::set_address_family_only(EventChannel& channel, IdNumber number, bool only) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  if (found.value()->state != IdState::kIdle) return failure(invalid("the id is bound already"));
  found.value()->is_family_only = only;
  return success();
}

Result<void, Error> RdmaCm::set_ack_timeout(EventChannel& channel, IdNumber number, std::uint8_t timeout) {
  constexpr std::uint8_t kMax = 31;
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  if (timeout > kMax) return failure(invalid("an ACK timeout is at most 31"));
  if (found.value()->service == Service::kUd) return failure(invalid("datagrams are not acknowledged"));
  found.value()->ack_timeout = timeout;
  return success();
}

// --- Events ---

void RdmaCm::tell(Id& id, Event event) {
  // As the kernel has it: the program does not know the id by a name of its own before it accepts.
  if (id.is_passive && id.uid == 0) return;
  event.uid = id.uid;
  event.id = id.number;
  id.channel->push({.event = event, .owner = id.number});
}

void RdmaCm::tell(Id& id, EventType type, int status) {
  tell(id, Event{.type = type, .status = status});
}

Result<void, Error> RdmaCm::tell_failure(EventChannel& channel, IdNumber number, EventType type, int status) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  tell(*found.value(), type, status);
  return success();
}

std::optional<Event> RdmaCm::next_event(EventChannel& channel) {
  const auto entry = channel.pop();
  if (!entry) return std::nullopt;
  const auto owner = ids_.find(entry->owner);
  if (owner != ids_.end()) {
    ++owner->second.fetched_events;
    if (entry->event.type == EventType::kConnectRequest) ++owner->second.backlog;
  } else if (const auto membership = memberships_.find(entry->owner); membership != memberships_.end()) {
    ++membership->second.fetched_events;
    ++ids_.at(membership->second.id).fetched_events;
  }
  return entry->event;
}

// --- For people who watch ---

IdSnapshot RdmaCm::snapshot(const Id& id) const {
  IdSnapshot snapshot{.number = id.number,
                      .service = id.service,
                      .space = id.space,
                      .state = id.state,
                      .connection_state = {},
                      .local = id.local,
                      .peer = id.peer,
                      .peer_qp = id.peer_qp,
                      .backlog = id.backlog};
  if (const cm::Connection* const connection = id.cm ? messages_.find(*id.cm) : nullptr) {
    snapshot.connection_state = connection->state;
    snapshot.qp = connection->local_qp;
  }
  return snapshot;
}

void RdmaCm::report(const Id& id, ConnectionFailure failure) const {
  if (observer_ == nullptr) return;
  failure.service = id.service;
  failure.is_passive = id.is_passive;
  failure.local = id.local;
  failure.peer = id.peer;
  if (id.path) failure.path_mtu = id.path->mtu;
  observer_->on_connection_failure(failure);
}

void RdmaCm::report(const cm::Arrival& from, cm::ServiceId service, ConnectionFailure failure) const {
  if (observer_ == nullptr) return;
  const auto address = [](const transport::wire::Gid& gid) {
    using Family = SocketAddress::Family;
    return SocketAddress{.family = gid.is_ipv4_mapped() ? Family::kIpv4 : Family::kIpv6, .address = gid};
  };
  failure.is_passive = true;
  failure.local = address(from.destination);
  failure.peer = address(from.source);
  if (const auto wanted = parse_service_id(service)) failure.local.port = wanted->port;
  observer_->on_connection_failure(failure);
}

// --- For the engine ---

void RdmaCm::on_timeout(Time now) {
  messages_.on_timeout(now);
  settle_early_requests(now);
  settle_doubts(now);
  while (!resolving_.empty() && resolving_.begin()->first <= now) {
    check_resolution(ids_.at(resolving_.begin()->second), now);
  }
  if (probes_.on_timeout(now)) check_probed(now);
  if (neighbor_generation_ == neighbors_.generation()) return;
  // An address that is being resolved may have been found.
  neighbor_generation_ = neighbors_.generation();
  check_resolutions(now);
}

void RdmaCm::check_resolutions(Time now) {
  for (auto next = resolving_.begin(); next != resolving_.end();) {
    const IdNumber number = (next++)->second;
    check_resolution(ids_.at(number), now);
  }
}

Time RdmaCm::next_timeout() const {
  if (!resolving_.empty() && neighbor_generation_ != neighbors_.generation()) return Time{};
  Time next = std::min(messages_.next_timeout(), probes_.next_timeout());
  if (!early_requests_.empty()) next = std::min(next, early_requests_.front().until);
  if (!doubts_.empty()) next = std::min(next, doubts_.front().until);
  if (!resolving_.empty()) next = std::min(next, resolving_.begin()->first);
  return next;
}

}  // namespace urnic::nic::rdma_cm
