// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// HostRoute: what the host's routes say of the way to an address.
#pragma once

#include <cstdint>
#include <functional>

#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::nic {

struct HostRoute {
  transport::wire::Gid source;  ///< the address of the host that packets leave from
  std::uint16_t mtu = 0;        ///< the largest IP packet that gets through, as far as the host knows, bytes
};

/// Where to, and from where.
struct Way {
  transport::wire::Gid destination{};
  std::uint32_t scope = 0;        ///< the index of the interface of link-local addresses; 0: none is named
  transport::wire::Gid source{};  ///< an address of the host; unspecified: which one is for the routes to say
};

/// Asks the host for a way; sends nothing and waits for nothing. ENETUNREACH: no route leads there; ENONET:
/// the NIC reaches its own host alone; or another errno value of connect(2). An empty function where the
/// NIC's addresses are not the host's.
using HostRoutes = std::function<Result<HostRoute, Error>(const Way&)>;

}  // namespace urnic::nic
