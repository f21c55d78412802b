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

/// Asks the host for the way to an address; sends nothing and waits for nothing. The number is the index of the interface of a
/// link-local address, 0 for any. ENETUNREACH: no route leads there. An empty function where the NIC's addresses are not the
/// host's.
using HostRoutes = std::function<Result<HostRoute, Error>(const transport::wire::Gid&, std::uint32_t)>;

}  // namespace urnic::nic
