// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/host_ports.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <vector>

#include "drivers/host/message.h"
#include "transport/types.h"

namespace urnic::drivers {

using nic::rdma_cm::kMaxIds;
using transport::to_integer;

namespace {

constexpr unsigned kIdBits = 16;
static_assert(kMaxIds < 1u << kIdBits);

/// An id as one of all ids of the host.
nic::rdma_cm::IdNumber of_host(unsigned slot, nic::rdma_cm::IdNumber id) {
  return nic::rdma_cm::IdNumber{slot << kIdBits | to_integer(id)};
}

/// Lent ports are those above Linux' net.ipv4.ip_local_port_range first: programs seldom name one of them.
constexpr std::uint32_t kFirstLent = 61008;
constexpr std::uint32_t kEndOfPorts = 65536;
constexpr std::uint32_t kFirstOthers = 32768;
static_assert(kFirstLent % kLentPorts == 0 && kFirstOthers % kLentPorts == 0 &&
              kEndOfPorts % kLentPorts == 0);

/// What the port table has for a lent port: nothing else may be there, at whatever address.
nic::rdma_cm::PortTable::Binding lent_binding(unsigned slot, std::uint16_t port, std::uint32_t interface) {
  return {.id = of_host(slot, nic::rdma_cm::IdNumber{kMaxIds}),
          .address = {.family = nic::rdma_cm::SocketAddress::Family::kIpv6, .address = {}, .port = port},
          .interface = interface};
}

}  // namespace

void HostPorts::limit(unsigned slot, std::uint32_t interface) {
  assert(slot < kSlots);
  interfaces_[slot] = interface;
}

bool HostPorts::has_limited() const {
  return std::ranges::any_of(interfaces_, [](std::uint32_t interface) { return interface != 0; });
}

bool HostPorts::is_free_to_lend(PortSpace space, std::uint32_t first) const {
  for (std::uint32_t port = first; port < first + kLentPorts; ++port) {
    if (table_.has(space, static_cast<std::uint16_t>(port))) return false;
  }
  return true;
}

std::optional<std::uint32_t> HostPorts::find_to_lend(PortSpace space) const {
  for (std::uint32_t first = kFirstLent; first < kEndOfPorts; first += kLentPorts) {
    if (is_free_to_lend(space, first)) return first;
  }
  for (std::uint32_t first = kFirstOthers; first < kFirstLent; first += kLentPorts) {
    if (is_free_to_lend(space, first)) return first;
  }
  return std::nullopt;
}

Result<std::uint16_t, int> HostPorts::lend(unsigned slot, PortSpace space, std::uint16_t wanted) {
  assert(slot < kSlots);
  const bool can_be_lent = wanted >= kFirstOthers && wanted % kLentPorts == 0;
  if (wanted != 0 && !can_be_lent) return failure(EADDRNOTAVAIL);
  if (wanted != 0 && !is_free_to_lend(space, wanted)) return failure(EADDRINUSE);
  const auto first = wanted != 0 ? std::optional<std::uint32_t>(wanted) : find_to_lend(space);
  if (!first) return failure(EADDRNOTAVAIL);
  for (std::uint32_t i = 0; i < kLentPorts; ++i) {
    const auto port = static_cast<std::uint16_t>(*first + i);
    table_.add(space, lent_binding(slot, port, interfaces_[slot]));
    lent_[slot].emplace(space, port);
  }
  return success(static_cast<std::uint16_t>(*first));
}

Result<std::uint16_t, int> HostPorts::bind(unsigned slot, PortSpace space, Binding binding) {
  assert(slot < kSlots && to_integer(binding.id) < kMaxIds);
  auto& held = held_[slot];
  if (held.size() >= kMaxIds) return failure(ENOSPC);
  if (binding.address.port == 0) {
    const auto free = table_.find_free(space);
    if (!free) return failure(EADDRNOTAVAIL);
    binding.address.port = *free;
  }
  const std::uint16_t port = binding.address.port;
  const Key key(space, port, binding.id);
  if (held.contains(key)) return failure(EINVAL);
  binding.is_listening = false;
  Binding in_table = binding;
  in_table.id = of_host(slot, binding.id);
  in_table.interface = interfaces_[slot];
  if (lent_[slot].erase({space, port}) > 0) {
    table_.remove(space, port, lent_binding(slot, port, interfaces_[slot]).id);
  }
  if (const int code = table_.error_of_adding(space, in_table); code != 0) return failure(code);
  table_.add(space, in_table);
  held.emplace(key, binding);
  return success(port);
}

int HostPorts::listen(unsigned slot, PortSpace space, std::uint16_t port, IdNumber id) {
  assert(slot < kSlots);
  const auto found = held_[slot].find({space, port, id});
  if (found == held_[slot].end()) return EINVAL;
  if (!table_.listen(space, port, of_host(slot, id))) return EADDRINUSE;
  found->second.is_listening = true;
  return 0;
}

void HostPorts::release(unsigned slot, PortSpace space, std::uint16_t port, IdNumber id) {
  assert(slot < kSlots);
  if (port == 0) {
    const auto is_its = [&](const auto& each) {
      return std::get<PortSpace>(each.first) == space && std::get<IdNumber>(each.first) == id;
    };
    const auto found = std::ranges::find_if(held_[slot], is_its);
    if (found == held_[slot].end()) return;
    port = std::get<std::uint16_t>(found->first);
  }
  if (held_[slot].erase({space, port, id}) == 0) return;
  table_.remove(space, port, of_host(slot, id));
}

void HostPorts::release_all(unsigned slot) {
  assert(slot < kSlots);
  for (const auto& [key, binding] : held_[slot]) {
    table_.remove(std::get<PortSpace>(key), binding.address.port, of_host(slot, binding.id));
  }
  held_[slot].clear();
  for (const auto& [space, port] : lent_[slot]) {
    table_.remove(space, port, lent_binding(slot, port, interfaces_[slot]).id);
  }
  lent_[slot].clear();
  interfaces_[slot] = 0;
}

std::optional<unsigned> HostPorts::listener_at(PortSpace space,
                                               const nic::rdma_cm::SocketAddress& destination,
                                               std::uint32_t interface) const {
  const auto id = table_.find_listener(space, destination, interface);
  return id ? std::optional(to_integer(*id) >> kIdBits) : std::nullopt;
}

std::vector<HostPorts::Held> HostPorts::held_by(unsigned slot) const {
  assert(slot < kSlots);
  std::vector<Held> all;
  for (const auto& [key, binding] : held_[slot]) {
    all.push_back({.space = std::get<PortSpace>(key), .binding = binding});
  }
  return all;
}

}  // namespace urnic::drivers
