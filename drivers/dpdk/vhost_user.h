// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The two ends of a vhost-user wire: shared memory between two processes, set up over a Unix socket.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "drivers/dpdk/options.h"
#include "nic/port/packet_port.h"
#include "transport/result.h"

namespace urnic::drivers {

/// The front serves the socket and lends its packet memory to the back; the back connects, every 50 ms until
/// the front answers. Either may start first, die at any time and come back: the other one drops frames
/// meanwhile (its link is down) and goes on with the next peer. Both need a running EAL.
///
/// The peer is a process of the same user, or root's; others are left at once, on both sides, and the socket
/// is the user's alone. A peer has the rings and the frames: it can read and change every frame that is on
/// the wire, also after its check, and can end the wire, but not the process at the other end of it, with one
/// exception: a front that cuts the memory which it lends ends its back by SIGBUS. See LentMemory.
/// `waits_for_first_peer` as in DpdkOptions.
Result<std::unique_ptr<nic::PacketPort>, Error> open_vhost_front(const std::string& path,
                                                                 std::uint16_t link_mtu,
                                                                 bool waits_for_first_peer = true);
Result<std::unique_ptr<nic::PacketPort>, Error> open_vhost_back(const std::string& path,
                                                                std::uint16_t link_mtu);

}  // namespace urnic::drivers
