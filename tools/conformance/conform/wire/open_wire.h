// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How the tester comes to a wire: the ports that can play cases.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/host/port_spec.h"
#include "tools/conformance/conform/wire/port_wire.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::conform {

struct WireChoice {
  nic::PortSpec port;
  /// The tester's address. Unspecified: of UDP sockets the route to the peer chooses it; on a bench it is the
  /// one that a NIC has there by itself.
  transport::wire::Gid own{};
  transport::wire::Gid peer;
  /// The largest IP packet, in bytes; 0: what a NIC on such a port has. UDP sockets have their interface's.
  std::uint16_t link_mtu = 0;
};

/// `udp`, `udp:ADDRESS` (its address stands in `own`, too), `bench:PATH` or `af_xdp:INTERFACE`. The error is
/// for a person.
Result<std::unique_ptr<PortWire>, Error> open_wire(const WireChoice& choice);

}  // namespace urnic::conform
