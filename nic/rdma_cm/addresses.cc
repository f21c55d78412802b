// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which addresses and ports an id has, and how its peer is reached.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "nic/cm/timing.h"
#include "nic/errors.h"
#include "nic/path/own_segment.h"
#include "nic/rdma_cm/private_header.h"
#include "nic/rdma_cm/rdma_cm.h"

namespace urnic::nic::rdma_cm {

using transport::Time;

namespace {

/// IBV_RATE_10_GBPS, as our port says of itself.
constexpr std::uint8_t kRate = 3;

Error not_ours(const SocketAddress& address, const GidTable& gids) {
  std::string own;
  for (std::size_t i = 0; i < gids.address_count(); ++i) {
    const auto gid = gids.address_at(i);
    if (!gid) continue;
    if (!own.empty()) own += ", ";
    own += gid->is_ipv4_mapped() ? to_string(gid->ipv4()) : to_string(*gid);
  }
  return {.code = EADDRNOTAVAIL,
          .message = to_string(address) + " is no address of this NIC, which has " + own +
                     ": use one of them, or start it with another (--ip, --ip6)"};
}

/// The interface of link-local addresses.
std::uint32_t scope_towards(const Id& id, const SocketAddress& peer) {
  return peer.scope_id != 0 ? peer.scope_id : id.local.scope_id;
}

}  // namespace

/// Whether an id may be bound to it, as Linux' rdma_bind_addr() has it (cma.c, cma_check_linklocal()): a
/// link-local address is one only with its interface. A NIC on no interface of the host has one link, which
/// need not be named.
Result<void, Error> RdmaCm::check_own(const SocketAddress& address) const {
  if (address.is_any()) return success();
  bool is_on_interface = false;
  for (std::size_t i = 0; i < gids_.size(); ++i) {
    const unsigned interface = gids_.interface_index_at(i);
    is_on_interface |= interface != 0;
    const bool is_there = !address.address.is_link_local() || interface == 0 || interface == address.scope_id;
    if (gids_.at(i) == address.address && is_there) return success();
  }
  if (!address.address.is_link_local() || !is_on_interface) return failure(not_ours(address, gids_));
  if (address.scope_id == 0) {
    return failure(invalid("a link-local address needs the index of its interface (sin6_scope_id)"));
  }
  return failure(Error{.code = ENODEV,
                       .message = to_string(address) +
                                  " is no address of this NIC on the interface with index " +
                                  std::to_string(address.scope_id)});
}

/// The address by which others know this NIC, in the form of `like`, IPv4 or IPv6.
std::optional<SocketAddress> RdmaCm::own_address(const SocketAddress& like) const {
  const bool is_ipv4 = like.is_ipv4();
  auto gid = gids_.address_at(is_ipv4 ? GidTable::kIpv4 : GidTable::kIpv6);
  if (!gid && !is_ipv4) gid = gids_.address_at(GidTable::kLinkLocal);
  // Where there is none a host's NIC has an IPv4 address at its place.
  if (!gid || gid->is_ipv4_mapped() != is_ipv4) return std::nullopt;
  return SocketAddress{.family = like.family, .address = *gid};
}

RdmaCm::Nearness RdmaCm::nearness_of(const SocketAddress& address) const {
  if (gids_.contains(address.address)) return Nearness::kOwn;
  if (routes_) {
    const auto route = routes_({.destination = address.address, .scope = address.scope_id});
    return route && gids_.contains(route.value().source) ? Nearness::kOnNetwork : Nearness::kElsewhere;
  }
  return is_on_own_segment(config_, address.address) ? Nearness::kOnNetwork : Nearness::kElsewhere;
}

/// The address by which this peer will know this NIC: the id's, or one of the peer's family. On a host the
/// routes choose it, and must lead to the peer from it.
Result<SocketAddress, ConnectionFailure> RdmaCm::source_towards(const Id& id,
                                                                const SocketAddress& peer) const {
  const ConnectionFailure no_address{.kind = ConnectionFailure::Kind::kNoAddressOfFamily,
                                     .code = ENETUNREACH};
  const std::optional<SocketAddress> own = id.is_on_device ? id.local : own_address(peer);
  if (id.is_on_device && own->is_ipv4() != peer.is_ipv4()) return no_address;
  if (routes_ && !peer.is_any() && !peer.is_loopback()) {
    const auto route = routes_({.destination = peer.address,
                                .scope = scope_towards(id, peer),
                                .source = id.is_on_device ? id.local.address : transport::wire::Gid{}});
    if (!route) {
      return ConnectionFailure{.kind = ConnectionFailure::Kind::kNoRoute, .code = route.error().code};
    }
    // It may be one that the host has got since the NIC looked, or that this NIC was not to have.
    const bool is_chosen = !id.is_on_device && gids_.contains(route.value().source);
    if (is_chosen) return SocketAddress{.family = peer.family, .address = route.value().source};
  }
  if (!own) return no_address;
  return *own;
}

void RdmaCm::on_address_moved(const transport::wire::Gid& address) {
  for (auto& [number, id] : ids_) {
    if (id.is_on_device && id.local.address == address) tell(id, EventType::kAddressChange);
  }
}

transport::PathMtu RdmaCm::path_mtu_to(const SocketAddress& peer) const {
  if (!routes_) return usual_path_mtu(config_);
  const auto route = routes_({.destination = peer.address, .scope = peer.scope_id});
  return route ? max_path_mtu(config_, route.value().mtu) : usual_path_mtu(config_);
}

Step RdmaCm::bind(EventChannel& channel, IdNumber number, const SocketAddress& address) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  if (found.value()->state != IdState::kIdle) return failure(invalid("the id is bound already"));
  return bind_id(*found.value(), address);
}

Step RdmaCm::bind_id(Id& id, SocketAddress address) {
  if (address.family == SocketAddress::Family::kNone) return failure(invalid("an address has a family"));
  if (address.is_loopback()) {
    // The kernel's rdma_cm, too, takes 127.0.0.1 for its own device.
    const auto own = own_address(address);
    if (!own) return failure(not_ours(address, gids_));
    address.address = own->address;
  }
  if (auto usable = check_own(address); !usable) return failure(usable.error());
  const PortTable::Binding binding = binding_of(id, address);
  const auto port = take_port(id, binding);
  if (!port) return failure(port.error());
  if (!port.value()) {
    id.state = IdState::kBinding;
    return PortQuestion{.kind = PortQuestion::Kind::kBind, .space = id.space, .binding = binding};
  }
  address.port = *port.value();
  id.local = address;
  id.has_port = true;
  id.is_on_device = !address.is_any();
  id.state = IdState::kAddressBound;
  return done();
}

PortTable::Binding RdmaCm::binding_of(const Id& id, const SocketAddress& address) const {
  return {.id = id.number,
          .address = address.normalized(),
          .may_be_shared = id.may_share_port,
          .is_family_only = id.is_family_only};
}

/// Puts the binding into the port table, with the port that it names or any for 0. Nothing: only the host
/// knows.
Result<std::optional<std::uint16_t>, Error> RdmaCm::take_port(Id& id, PortTable::Binding binding) {
  auto port = host_ != nullptr ? take_port_of_host(id, binding) : binding.address.port;
  if (!port || !port.value()) return port;
  if (*port.value() == 0) port = ports_.find_free(id.space);
  if (!port.value()) return Error{.code = EADDRNOTAVAIL, .message = "all ports are taken"};
  binding.address.port = *port.value();
  const int code = ports_.error_of_adding(id.space, binding);
  if (code == 0) {
    ports_.add(id.space, binding);
    return port;
  }
  if (host_ != nullptr) give_port_back(id, binding.address.port);
  return Error{.code = code, .message = to_string(binding.address) + " is in use by this program"};
}

Result<std::optional<std::uint16_t>, Error> RdmaCm::take_port_of_host(Id& id,
                                                                      const PortTable::Binding& binding) {
  if (id.granted_port) return std::exchange(id.granted_port, std::nullopt);
  if (binding.address.port == 0) {
    const auto lent = host_->take_lent(id.space);
    id.is_port_lent = lent.has_value();
    return lent;
  }
  const int code = ports_.error_of_adding(id.space, binding);
  if (code == 0) return std::optional<std::uint16_t>();
  return Error{.code = code, .message = to_string(binding.address) + " is in use by this program"};
}

void RdmaCm::give_port_back(const Id& id, std::uint16_t port) {
  if (!id.is_port_lent) return host_->release(id.space, port, id.number);
  // While the host is asked to make it the id's own, only the answer says what it is; see answer().
  if (id.state != IdState::kBinding) host_->give_back_lent(id.space, port);
}

Result<void, Error> RdmaCm::answer(const PortQuestion& question, const PortAnswer& answer) {
  const auto found = ids_.find(question.binding.id);
  if (found == ids_.end() || found->second.state != IdState::kBinding) {
    if (answer) host_->release(question.space, answer.value(), question.binding.id);
    return failure(Error{.code = ENOENT, .message = "the id was destroyed"});
  }
  Id& id = found->second;
  id.state = id.has_port ? IdState::kAddressBound : IdState::kIdle;
  if (!answer) return failure(answer.error());
  if (question.kind == PortQuestion::Kind::kListen) {
    id.may_listen = true;
  } else if (id.has_port) {
    id.is_port_lent = false;
  } else {
    id.granted_port = answer.value();
  }
  return success();
}

Step RdmaCm::resolve_address(EventChannel& channel, IdNumber number, const SocketAddress& source,
                             const SocketAddress& destination, std::chrono::milliseconds timeout, Time now) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  if (id.state != IdState::kIdle && id.state != IdState::kAddressBound) {
    return failure(invalid("the id has an address, or resolves one"));
  }
  if (destination.family == SocketAddress::Family::kNone) return failure(invalid("an address has a family"));
  if (id.state == IdState::kIdle) {
    SocketAddress from = source;
    if (from.is_any()) {
      from.family = destination.family;
      from.address = destination.is_ipv4() ? transport::wire::Ipv6Address::from_ipv4({})
                                           : transport::wire::Ipv6Address{};
    }
    if (from.is_ipv4() != destination.is_ipv4()) {
      return failure(invalid("the source and the destination are of different families"));
    }
    if (auto bound = bind_id(id, from); !bound || bound.value()) return bound;
  }
  const auto own = source_towards(id, destination);
  id.state = IdState::kAddressQuery;
  id.peer = destination;
  if (!own) {
    id.state = IdState::kAddressBound;
    report(id, own.error());
    tell(id, EventType::kAddressError, -own.error().code);
    return done();
  }
  if (destination.is_any() || destination.is_loopback()) id.peer.address = own.value().address;
  if (!id.is_on_device) {
    id.local.family = destination.family;
    id.local.address = own.value().address;
    // A link-local peer is reached from the link-local address.
    const auto link_local = gids_.address_at(GidTable::kLinkLocal);
    if (!routes_ && id.peer.address.is_link_local() && link_local) id.local.address = *link_local;
    id.is_on_device = true;
  }
  id.resolution_deadline = now + timeout;
  resolving_.emplace(id.resolution_deadline, id.number);
  // The peer may have come since an earlier attempt. Linux's rdma_cm lets an old failure be no answer,
  // either: drivers/infiniband/core/addr.c, dst_fetch_ha().
  neighbors_.ask_anew(id.peer.address, now);
  if (!gids_.contains(id.peer.address)) {
    probes_.ask(
        {.destination = id.peer.address, .scope = scope_towards(id, id.peer), .source = id.local.address},
        now);
  }
  check_resolution(id, now);
  return done();
}

void RdmaCm::check_resolution(Id& id, Time now) {
  using Kind = ConnectionFailure::Kind;
  const NeighborState state = neighbors_.resolve(id.peer.address, now).state;
  const PeerProbes::Seen seen = probes_.seen(id.local.address, id.peer.address);
  // The host itself says that the port is closed.
  const bool is_found = seen.is_found || seen.error == ECONNREFUSED;
  if (seen.error != 0 && !is_found) {
    fail_resolution(id, {.kind = Kind::kHostUnreachable, .code = seen.error});
  } else if (state == NeighborState::kReachable && is_found) {
    end_resolution(id, IdState::kAddressResolved);
    tell(id, EventType::kAddressResolved);
  } else if (state == NeighborState::kFailed) {
    fail_resolution(id, {.kind = Kind::kAddressSilent, .code = EHOSTUNREACH});
  } else if (now >= id.resolution_deadline) {
    fail_resolution(id, {.kind = Kind::kAddressTimeout, .code = ETIMEDOUT});
  }
}

void RdmaCm::end_resolution(Id& id, IdState state) {
  resolving_.erase({id.resolution_deadline, id.number});
  id.state = state;
}

void RdmaCm::fail_resolution(Id& id, const ConnectionFailure& failure) {
  end_resolution(id, IdState::kAddressBound);
  report(id, failure);
  tell(id, EventType::kAddressError, -failure.code);
}

/// More is known of some hosts: of those that ids resolve, and of those that have not answered a request yet.
void RdmaCm::check_probed(Time now) {
  check_resolutions(now);
  for (auto& [number, id] : ids_) doubt_if_refused(id, now);
}

namespace {
/// A refused request is repeated after each pause: the peer may just be starting, or a daemon may be about to
/// take a listener over from the process that began it.
constexpr transport::Duration kPauseOfDoubt = std::chrono::milliseconds(500);
constexpr int kRepeatsInDoubt = 3;
}  // namespace

/// Cards take what comes to RoCE's port before the kernel sees it, but whether all of them take the probe's
/// empty datagram is not known. So ICMP does not end a request by itself; but it need not be repeated for a
/// minute then.
void RdmaCm::doubt_if_refused(Id& id, Time now) {
  const int code = probes_.seen(id.local.address, id.peer.address).error;
  if (code == 0 || !id.cm || id.is_passive || id.is_doubted) return;
  id.is_doubted = true;
  doubts_.push_back({.id = id.number,
                     .request = *id.cm,
                     .code = code,
                     .repeats_left = kRepeatsInDoubt,
                     .until = now + kPauseOfDoubt});
}

void RdmaCm::settle_doubts(Time now) {
  while (!doubts_.empty() && doubts_.front().until <= now) {
    Doubt doubt = doubts_.front();
    doubts_.pop_front();
    const auto found = ids_.find(doubt.id);
    if (found == ids_.end() || found->second.cm != doubt.request) continue;
    Id& id = found->second;
    const cm::Connection& connection = *messages_.find(doubt.request);
    const bool is_silent =
        connection.state == cm::State::kReqSent || connection.state == cm::State::kSidrReqSent;
    if (!is_silent || connection.is_awaited) continue;
    if (doubt.repeats_left > 0) {
      messages_.repeat_early(doubt.request);
      --doubt.repeats_left;
      doubt.until = now + kPauseOfDoubt;
      doubts_.push_back(doubt);
      continue;
    }
    untie(id);
    messages_.release(doubt.request, now);
    report(id, {.kind = ConnectionFailure::Kind::kHostUnreachable, .code = doubt.code});
    tell(id, EventType::kUnreachable, -doubt.code);
  }
}

Result<void, Error> RdmaCm::resolve_route(EventChannel& channel, IdNumber number, std::chrono::milliseconds) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  if (id.state != IdState::kAddressResolved) return failure(invalid("the address is not resolved"));
  // Ethernet has no subnet administration that could be asked.
  id.path = path_between(id);
  id.state = IdState::kRouteResolved;
  tell(id, EventType::kRouteResolved);
  return success();
}

PathRecord RdmaCm::path_between(const Id& id) const {
  constexpr std::uint8_t kHopLimit = 64;
  constexpr unsigned kPriorityShift = 5;
  return {.source = id.local.address,
          .destination = id.peer.address,
          .flow_label = flow_label_of(id.local, id.peer),
          .hop_limit = kHopLimit,
          .traffic_class = id.type_of_service,
          .service_level = static_cast<std::uint8_t>(id.type_of_service >> kPriorityShift),
          .mtu = path_mtu_to(id.peer),
          .rate = kRate,
          .packet_life_time = cm::kPacketLifeTime};
}

Result<Description, Error> RdmaCm::query(EventChannel& channel, IdNumber number) const {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  const Id& id = *found.value();
  return Description{.port_space = id.space,
                     .local = id.local,
                     .peer = id.peer,
                     .is_on_device = id.is_on_device,
                     .node_guid = gids_.node_guid(),
                     .path = id.path};
}

AddressVector RdmaCm::address_to_peer(const Id& id) const {
  const PathRecord path = id.path.value_or(path_between(id));
  return {.destination = path.destination,
          .source_gid_index = gids_.index_of(path.source).value_or(0),
          .hop_limit = path.hop_limit,
          .traffic_class = path.traffic_class,
          .service_level = path.service_level,
          .flow_label = path.flow_label};
}

}  // namespace urnic::nic::rdma_cm
