// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The way into the DPDK ports where urnic was built without them (URNIC_WITH_DPDK=OFF).
#include <cerrno>

#include "drivers/dpdk/open_port.h"

namespace urnic::drivers {

Result<std::unique_ptr<nic::PacketPort>, Error> open_dpdk_port(const nic::PortSpec& /*spec*/,
                                                               std::uint16_t /*link_mtu*/,
                                                               const DpdkOptions& /*options*/) {
  return Error{EOPNOTSUPP, "this urnic was built without DPDK, which fabric, vhost, af_packet and pci need"};
}

}  // namespace urnic::drivers
