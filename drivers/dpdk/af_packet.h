// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A network interface of the host, through AF_PACKET.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "nic/port/packet_port.h"
#include "transport/result.h"

namespace urnic::drivers {

/// A port on `interface`, which must exist, be up and have an MTU of at least `link_mtu`. Needs CAP_NET_RAW
/// in the interface's network namespace and a running EAL. The interface hears everything (promiscuous mode)
/// while the port is open, because the NIC's MAC is not the interface's; nothing else about it changes.
///
/// The host's own stack stays on the interface: the port sees what the host sends there too, and so does
/// every port on the interface, whichever process it is in.
Result<std::unique_ptr<nic::PacketPort>, Error> open_af_packet(const std::string& interface,
                                                               std::uint16_t link_mtu);

}  // namespace urnic::drivers
