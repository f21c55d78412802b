// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PortTable: which ids have which ports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "nic/rdma_cm/types.h"

namespace urnic::nic::rdma_cm {

/// Each port space has ports of its own, and each NIC has its own, too. All calls under the engine lock.
class PortTable {
 public:
  /// `seed` chooses where the search for a free port begins.
  explicit PortTable(std::uint64_t seed);

  struct Binding {
    IdNumber id{};
    SocketAddress address;
    bool may_be_shared = false;   ///< with others that may (RDMA_OPTION_ID_REUSEADDR)
    bool is_family_only = false;  ///< IPv6: [::] does not stand for IPv4 addresses, too
    bool is_listening = false;
    /// The index of the interface to whose addresses any address is limited; 0: it stands for all.
    std::uint32_t interface = 0;
  };

  /// 0 where the port is free, or may be shared. Else what the kernel answers (cma_check_port() in its
  /// drivers/infiniband/core/cma.c): EADDRNOTAVAIL where one of the two addresses is any; EADDRINUSE.
  int error_of_adding(PortSpace space, const Binding& binding) const;
  /// False when the port is taken.
  bool add(PortSpace space, const Binding& binding);
  /// Whether an id has the port, at whatever address.
  bool has(PortSpace space, std::uint16_t port) const { return bindings_.contains({space, port}); }
  /// A port that no id has; nothing when all are taken.
  std::optional<std::uint16_t> find_free(PortSpace space);
  void remove(PortSpace space, std::uint16_t port, IdNumber id);
  /// Makes the binding one that listens. False when another listens there already.
  bool listen(PortSpace space, std::uint16_t port, IdNumber id);
  /// The listener for an address of ours, which is on that interface: one for that address before one for
  /// any.
  std::optional<IdNumber> find_listener(PortSpace space, const SocketAddress& destination,
                                        std::uint32_t interface = 0) const;

 private:
  using Key = std::pair<PortSpace, std::uint16_t>;

  std::map<Key, std::vector<Binding>> bindings_;
  std::uint32_t next_free_;
};

}  // namespace urnic::nic::rdma_cm
