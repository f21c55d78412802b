// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a process asks of the host's switch about ports of rdma_cm.
#pragma once

#include "drivers/host/host_ports.h"
#include "drivers/host/message.h"

namespace urnic::drivers {

/// Does what a request (kBind, kListen, kRelease or kLend) of the process in that slot asks for. Its fields
/// may have any values: the answer's error is EINVAL for one that makes no sense, and otherwise as HostPorts
/// has it.
HostAnswer change_ports(HostPorts& ports, unsigned slot, const HostRequest& request);

}  // namespace urnic::drivers
