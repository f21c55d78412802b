// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// HostPorts: which rdma_cm ports the processes of a host have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "nic/rdma_cm/port_table.h"
#include "nic/rdma_cm/types.h"
#include "transport/result.h"

namespace urnic::drivers {

/// The port table of all NICs of the host together. An id is a slot's own, so it counts with its slot.
/// Whatever a process asks for is fine: errors are errno values.
class HostPorts {
 public:
  using PortSpace = nic::rdma_cm::PortSpace;
  using Binding = nic::rdma_cm::PortTable::Binding;
  using IdNumber = nic::rdma_cm::IdNumber;

  static constexpr unsigned kSlots = 256;

  /// `seed` as PortTable's.
  explicit HostPorts(std::uint64_t seed) : table_(seed) {}

  /// From now on what the member has at any address, and what it is lent, counts for the addresses of that
  /// interface alone; 0: for all of the host.
  void limit(unsigned slot, std::uint32_t interface);

  /// Lends the process so many ports, as SharedHost::take_lent() has them: from `first` on, or any for 0.
  /// Returns the first one. EADDRINUSE: one of them is not free; EADDRNOTAVAIL: there are not so many in a
  /// row, or those are no such ports.
  Result<std::uint16_t, int> lend(unsigned slot, PortSpace space, std::uint16_t first);
  /// As SharedHost::bind(). EINVAL also for an id that has this port already; ENOSPC: the process has too
  /// many.
  Result<std::uint16_t, int> bind(unsigned slot, PortSpace space, Binding binding);
  /// 0, or as SharedHost::listen(); EINVAL: the id does not have this port.
  int listen(unsigned slot, PortSpace space, std::uint16_t port, IdNumber id);
  /// The id's port, or whichever it has there for 0.
  void release(unsigned slot, PortSpace space, std::uint16_t port, IdNumber id);
  /// Takes everything from a process that has ended.
  void release_all(unsigned slot);

  /// The slot of the process that listens there. `interface` is where the host has the address.
  std::optional<unsigned> listener_at(PortSpace space, const nic::rdma_cm::SocketAddress& destination,
                                      std::uint32_t interface = 0) const;
  /// Whether that depends on the interface.
  bool has_limited() const;

  struct Held {
    PortSpace space{};
    Binding binding;  ///< its id is the process's own number
  };
  /// What a process has.
  std::vector<Held> held_by(unsigned slot) const;

 private:
  using Key = std::tuple<PortSpace, std::uint16_t, IdNumber>;
  using Place = std::pair<PortSpace, std::uint16_t>;

  bool is_free_to_lend(PortSpace space, std::uint32_t first) const;
  std::optional<std::uint32_t> find_to_lend(PortSpace space) const;

  nic::rdma_cm::PortTable table_;
  std::array<std::map<Key, Binding>, kSlots> held_;  // by slot
  std::array<std::set<Place>, kSlots> lent_;         // the same; those that no id has by name
  std::array<std::uint32_t, kSlots> interfaces_{};   // the same; see limit()
};

}  // namespace urnic::drivers
