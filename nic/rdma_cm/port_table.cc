// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/rdma_cm/port_table.h"

#include <algorithm>
#include <cerrno>

namespace urnic::nic::rdma_cm {
namespace {

/// Linux' net.ipv4.ip_local_port_range, unless an administrator changes it.
constexpr std::uint32_t kFirstFree = 32768;
constexpr std::uint32_t kFreeCount = 60999 - kFirstFree + 1;

/// Whether a binding stands for an address of that family.
bool covers_family(const PortTable::Binding& binding, SocketAddress::Family family) {
  if (binding.address.family == family) return true;
  return binding.address.family == SocketAddress::Family::kIpv6 && binding.address.is_any() &&
         !binding.is_family_only;
}

bool overlap(const PortTable::Binding& one, const PortTable::Binding& other) {
  const bool are_on_two_interfaces =
      one.interface != 0 && other.interface != 0 && one.interface != other.interface;
  if (are_on_two_interfaces) return false;
  const bool share_family =
      covers_family(one, other.address.family) || covers_family(other, one.address.family);
  if (!share_family) return false;
  return one.address.is_any() || other.address.is_any() || one.address.address == other.address.address;
}

}  // namespace

PortTable::PortTable(std::uint64_t seed) : next_free_(static_cast<std::uint32_t>(seed % kFreeCount)) {}

int PortTable::error_of_adding(PortSpace space, const Binding& binding) const {
  const auto there = bindings_.find({space, binding.address.port});
  if (there == bindings_.end()) return 0;
  for (const Binding& other : there->second) {
    const bool is_shared = binding.may_be_shared && other.may_be_shared && !other.is_listening;
    if (is_shared || !overlap(binding, other)) continue;
    return binding.address.is_any() || other.address.is_any() ? EADDRNOTAVAIL : EADDRINUSE;
  }
  return 0;
}

bool PortTable::add(PortSpace space, const Binding& binding) {
  if (error_of_adding(space, binding) != 0) return false;
  bindings_[{space, binding.address.port}].push_back(binding);
  return true;
}

std::optional<std::uint16_t> PortTable::find_free(PortSpace space) {
  for (std::uint32_t i = 0; i < kFreeCount; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirstFree + next_free_);
    next_free_ = (next_free_ + 1) % kFreeCount;
    if (!bindings_.contains({space, port})) return port;
  }
  return std::nullopt;
}

void PortTable::remove(PortSpace space, std::uint16_t port, IdNumber id) {
  const auto found = bindings_.find({space, port});
  if (found == bindings_.end()) return;
  std::erase_if(found->second, [id](const Binding& binding) { return binding.id == id; });
  if (found->second.empty()) bindings_.erase(found);
}

bool PortTable::listen(PortSpace space, std::uint16_t port, IdNumber id) {
  const auto found = bindings_.find({space, port});
  if (found == bindings_.end()) return false;
  std::vector<Binding>& there = found->second;
  const auto own = std::find_if(there.begin(), there.end(), [id](const Binding& b) { return b.id == id; });
  if (own == there.end()) return false;
  const bool is_taken = std::any_of(there.begin(), there.end(), [&](const Binding& other) {
    return other.id != id && other.is_listening && overlap(*own, other);
  });
  if (is_taken) return false;
  own->is_listening = true;
  return true;
}

std::optional<IdNumber> PortTable::find_listener(PortSpace space, const SocketAddress& destination,
                                                 std::uint32_t interface) const {
  const auto found = bindings_.find({space, destination.port});
  if (found == bindings_.end()) return std::nullopt;
  std::optional<IdNumber> for_any;
  for (const Binding& binding : found->second) {
    if (!binding.is_listening || !covers_family(binding, destination.family)) continue;
    if (binding.address.address == destination.address) return binding.id;
    const bool covers_interface = binding.interface == 0 || binding.interface == interface;
    if (binding.address.is_any() && covers_interface) for_any = binding.id;
  }
  return for_any;
}

}  // namespace urnic::nic::rdma_cm
