#include "drivers/host/host_ports.h"

#include <cassert>
#include <cerrno>

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

}  // namespace

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
  if (!table_.add(space, in_table)) return failure(EADDRINUSE);
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
  if (held_[slot].erase({space, port, id}) == 0) return;
  table_.remove(space, port, of_host(slot, id));
}

void HostPorts::release_all(unsigned slot) {
  assert(slot < kSlots);
  for (const auto& [key, binding] : held_[slot]) {
    table_.remove(std::get<PortSpace>(key), binding.address.port, of_host(slot, binding.id));
  }
  held_[slot].clear();
}

std::optional<unsigned> HostPorts::listener_at(PortSpace space,
                                               const nic::rdma_cm::SocketAddress& destination) const {
  const auto id = table_.find_listener(space, destination);
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
