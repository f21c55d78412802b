// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// HostProbe: whether a host is there, before anything is sent to its NIC.
#pragma once

#include <functional>
#include <memory>

#include "nic/port/host_route.h"

namespace urnic::nic {

/// One datagram without payload has left for RoCE's port of a host, so that the kernel finds the MAC of the
/// next hop, which Linux' rdma_cm waits for when it resolves an address. A host where the port is closed says
/// so by ICMP.
class HostProbe {
 public:
  virtual ~HostProbe() = default;

  struct Seen {
    bool is_found = false;  ///< the next hop is known; there may be an error later
    int error = 0;          ///< EHOSTUNREACH, ENETUNREACH or ECONNREFUSED: the last word
  };
  /// What is known now. Sends nothing and waits for nothing; a few system calls.
  virtual Seen look() = 0;
};

/// Sends the datagram; null when that cannot be done. An empty function where the NIC's addresses are not the
/// host's.
using HostProbes = std::function<std::unique_ptr<HostProbe>(const Way&)>;

}  // namespace urnic::nic
