// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which of the process's devices an id is on.
#pragma once

#include <chrono>
#include <cstdint>

#include "nic/rdma_cm/types.h"
#include "transport/result.h"
#include "verbs_api/rdma_cm/command.h"

namespace urnic::verbs_api::ucm {

// As in the kernel, an id comes to be on a device with its first address: on the one that has that address,
// or from which the peer is reached. Until then it is on none: here each device has one of that number. An id
// that is bound to any address listens on all of them, at one port.

/// As RdmaCm::bind(). An error leaves the id as it was, on all devices that had it.
Result<void, Error> bind_on_devices(const Command& command, nic::rdma_cm::IdNumber id,
                                    const nic::rdma_cm::SocketAddress& address);

/// As RdmaCm::listen(): an id that has no address is bound to any.
Result<void, Error> listen_on_devices(const Command& command, nic::rdma_cm::IdNumber id,
                                      std::uint32_t backlog);

/// As RdmaCm::resolve_address(), on the device of the source address, or without one on the device that is
/// nearest to the destination.
Result<void, Error> resolve_on_device(const Command& command, nic::rdma_cm::IdNumber id,
                                      const nic::rdma_cm::SocketAddress& source,
                                      const nic::rdma_cm::SocketAddress& destination,
                                      std::chrono::milliseconds timeout);

}  // namespace urnic::verbs_api::ucm
