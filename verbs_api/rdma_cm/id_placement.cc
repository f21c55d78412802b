// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/id_placement.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

namespace urnic::verbs_api::ucm {
namespace {

using nic::rdma_cm::IdNumber;
using nic::rdma_cm::KeptId;
using nic::rdma_cm::RdmaCm;
using nic::rdma_cm::SocketAddress;
using Parts = std::span<ChannelPart* const>;
using Nearness = RdmaCm::Nearness;

/// A port that is free on one device may be taken on another. So often another one is tried.
constexpr int kPortsTried = 16;

Result<void, Error> bind_part(ChannelPart& of, IdNumber id, const SocketAddress& address) {
  return with_ports(of, [&](RdmaCm& cm, ChannelPart& part) { return cm.bind(part.events(), id, address); });
}

Result<void, Error> listen_part(ChannelPart& of, IdNumber id, std::uint32_t backlog) {
  return with_ports(of, [&](RdmaCm& cm, ChannelPart& part) { return cm.listen(part.events(), id, backlog); });
}

/// Nothing but an id that the program destroys at this moment makes it fail: then there is nothing to do.
void drop(ChannelPart& of, IdNumber id) {
  static_cast<void>(with_rdma_cm(
      of, [&](RdmaCm& cm, ChannelPart& part) { return cm.destroy_id(part.events(), id, part.nic().now()); }));
}

void keep_only(const ChannelPart& chosen, Parts parts, IdNumber id) {
  for (ChannelPart* const part : parts) {
    if (part != &chosen) drop(*part, id);
  }
}

/// Makes it again what it was before it was bound.
void unbind(ChannelPart& of, IdNumber id) {
  static_cast<void>(with_rdma_cm(of, [&](RdmaCm& cm, ChannelPart& part) -> Result<void, Error> {
    const auto kept = cm.kept(part.events(), id);
    if (!kept) return failure(kept.error());
    static_cast<void>(cm.destroy_id(part.events(), id, part.nic().now()));
    return cm.make_again(part.events(), kept.value());
  }));
}

/// The part whose device is nearest to the address, and the first of those that are equally near.
ChannelPart& nearest(Parts parts, const SocketAddress& address) {
  const auto distance = [&address](ChannelPart* each) {
    const auto nearness = with_rdma_cm(
        *each, [&](RdmaCm& cm, ChannelPart&) -> Result<Nearness, Error> { return cm.nearness_of(address); });
    return nearness ? -static_cast<int>(nearness.value()) : 0;
  };
  return **std::ranges::min_element(parts, {}, distance);
}

Result<std::uint16_t, Error> port_of(ChannelPart& of, IdNumber id) {
  return with_rdma_cm(of, [&](RdmaCm& cm, ChannelPart& part) -> Result<std::uint16_t, Error> {
    const auto known = cm.query(part.events(), id);
    if (!known) return known.error();
    return known.value().local.port;
  });
}

/// Any address, at the port that the first part gets.
Result<void, Error> bind_parts(Parts parts, IdNumber id, SocketAddress any) {
  if (auto bound = bind_part(*parts.front(), id, any); !bound) return bound;
  const auto port = port_of(*parts.front(), id);
  if (!port) return failure(port.error());
  any.port = port.value();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    auto bound = bind_part(*parts[i], id, any);
    if (bound) continue;
    for (ChannelPart* const part : parts.first(i)) unbind(*part, id);
    return bound;
  }
  return success();
}

Result<void, Error> bind_to_any(Parts parts, IdNumber id, const SocketAddress& any) {
  auto bound = bind_parts(parts, id, any);
  for (int i = 1; i < kPortsTried && !bound && is_port_taken(bound.error().code) && any.port == 0; ++i) {
    bound = bind_parts(parts, id, any);
  }
  return bound;
}

/// Makes it again on parts that have dropped it.
void give_back(Parts parts, const KeptId& kept) {
  for (ChannelPart* const each : parts) {
    const auto made = with_rdma_cm(*each, [&](RdmaCm& cm, ChannelPart& part) -> Result<bool, Error> {
      return cm.make_again(part.events(), kept).has_value();
    });
    const bool is_new = made && made.value();
    if (is_new && kept.bound) static_cast<void>(bind_part(*each, kept.number, *kept.bound));
  }
}

/// What it listens at again, without listening.
void stop_listening(ChannelPart& of, IdNumber id) {
  const auto kept =
      with_rdma_cm(of, [&](RdmaCm& cm, ChannelPart& part) { return cm.kept(part.events(), id); });
  unbind(of, id);
  if (kept && kept.value().bound) static_cast<void>(bind_part(of, id, *kept.value().bound));
}

}  // namespace

Result<void, Error> bind_on_devices(const Command& command, IdNumber id, const SocketAddress& address) {
  const std::vector<ChannelPart*> parts = parts_with(command, id);
  if (parts.size() > 1 && address.is_any() && address.family != SocketAddress::Family::kNone) {
    return bind_to_any(parts, id, address);
  }
  ChannelPart& chosen = nearest(parts, address);
  auto bound = bind_part(chosen, id, address);
  if (bound) keep_only(chosen, parts, id);
  return bound;
}

Result<void, Error> listen_on_devices(const Command& command, IdNumber id, std::uint32_t backlog) {
  const std::vector<ChannelPart*> parts = parts_with(command, id);
  if (parts.size() == 1) return listen_part(*parts.front(), id, backlog);
  const auto port = port_of(*parts.front(), id);
  if (!port) return failure(port.error());
  if (port.value() == 0) {
    const SocketAddress any{.family = SocketAddress::Family::kIpv4,
                            .address = transport::wire::Ipv6Address::from_ipv4({})};
    if (auto bound = bind_to_any(parts, id, any); !bound) return bound;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto listening = listen_part(*parts[i], id, backlog);
    if (listening) continue;
    for (ChannelPart* const part : Parts(parts).first(i)) stop_listening(*part, id);
    return listening;
  }
  return success();
}

Result<void, Error> resolve_on_device(const Command& command, IdNumber id, const SocketAddress& source,
                                      const SocketAddress& destination, std::chrono::milliseconds timeout) {
  const std::vector<ChannelPart*> parts = parts_with(command, id);
  ChannelPart& chosen = nearest(parts, source.is_any() ? destination : source);
  const auto kept =
      with_rdma_cm(chosen, [&](RdmaCm& cm, ChannelPart& part) { return cm.kept(part.events(), id); });
  // Before there can be an event, which another thread of the program may answer with a command.
  keep_only(chosen, parts, id);
  auto resolving = with_ports(chosen, [&](RdmaCm& cm, ChannelPart& part) {
    return cm.resolve_address(part.events(), id, source, destination, timeout, part.nic().now());
  });
  if (!resolving && kept) give_back(parts, kept.value());
  return resolving;
}

}  // namespace urnic::verbs_api::ucm
