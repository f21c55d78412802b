// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Ways: the way to a peer, as the port and the host's routes have it.
#pragma once

#include <optional>

#include "nic/path/path.h"
#include "nic/port/host_route.h"
#include "transport/result.h"
#include "transport/types.h"

namespace urnic::nic {

/// Under the engine's lock.
class Ways {
 public:
  /// A queue pair will soon send something there.
  virtual void find_next_hop(const AddressVector& to) = 0;
  /// See PacketPort::take_only_from().
  virtual void take_only_from(transport::QpNumber qp, const std::optional<transport::wire::Mac>& station) = 0;
  /// What is known of the way there: the largest IP packet of the link unless the host's routes say less.
  /// ENONET: the NIC reaches its own host alone.
  virtual Result<HostRoute, Error> way_to(const AddressVector& to) const = 0;

 protected:
  ~Ways() = default;
};

}  // namespace urnic::nic
