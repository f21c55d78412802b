// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A network card on the PCI bus, driven by DPDK.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "drivers/dpdk/options.h"
#include "nic/port/packet_port.h"
#include "transport/result.h"

namespace urnic::drivers {

/// A port on the card at `address` ("0000:03:00.0"), which must be bound to a driver that leaves it to
/// programs, and starts DPDK with that card alone. Waits up to three seconds for its cable. The card hears
/// everything (promiscuous mode), because the NIC's MAC is not the card's. It wakes no sleeper: the port has
/// to be polled. The errors are PciCard's, and what DPDK's driver does not take.
Result<std::unique_ptr<nic::PacketPort>, Error> open_pci(const std::string& address, std::uint16_t link_mtu,
                                                         const DpdkOptions& options);

}  // namespace urnic::drivers
