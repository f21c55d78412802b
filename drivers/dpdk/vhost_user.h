// The two ends of a vhost-user wire: shared memory between two processes, set up over a Unix socket.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "drivers/dpdk/options.h"
#include "nic/packet_port.h"
#include "transport/result.h"

namespace urnic::drivers {

/// The front serves the socket and lends its packet memory to the back; the back connects, every 50 ms until
/// somebody answers. Either may start first, die at any time and come back: the other one drops frames
/// meanwhile (its link is down) and goes on with the next peer. Both need a running EAL.
///
/// The peer is trusted like oneself: it shares memory and could spoil it. Who may connect is a matter of the
/// folder's permissions.
Result<std::unique_ptr<nic::PacketPort>, Error> open_vhost_front(const std::string& path,
                                                                 std::uint16_t link_mtu);
Result<std::unique_ptr<nic::PacketPort>, Error> open_vhost_back(const std::string& path,
                                                                std::uint16_t link_mtu);

}  // namespace urnic::drivers
