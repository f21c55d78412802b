// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The way into the DPDK ports for code that does not include DPDK's headers.
#pragma once

#include <cstdint>
#include <memory>

#include "drivers/dpdk/options.h"
#include "nic/host/port_spec.h"
#include "nic/port/packet_port.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Opens a vhost, af_packet or pci port, and starts DPDK if this is the first one. Blocks until the port can
/// be used, whether or not a peer is there: about 130 ms the first time. `link_mtu` is the largest IP packet,
/// in bytes. The errors are one line each, for a person. Safe from any thread.
Result<std::unique_ptr<nic::PacketPort>, Error> open_dpdk_port(const nic::PortSpec& spec,
                                                               std::uint16_t link_mtu,
                                                               const DpdkOptions& options);

}  // namespace urnic::drivers
