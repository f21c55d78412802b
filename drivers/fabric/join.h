// What a program does to be on a fabric: have a switch, and a port of it.
#pragma once

#include <cstdint>
#include <string>

#include "nic/port_spec.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Has the switch of the fabric `spec.target` make the port `spec.slot`, and starts `switch_program` on
/// demand when no switch runs. Returns the socket where that port serves: the back of a vhost-user wire
/// connects to it. `link_mtu` is the NIC's, in bytes; EINVAL when the fabric carries less. Takes about 150 ms
/// when the switch has to be started, and gives up after ten seconds. The errors are for a person. Safe from
/// any thread.
Result<std::string, Error> join_fabric(const nic::PortSpec& spec, std::uint16_t link_mtu,
                                       const std::string& switch_program);

}  // namespace urnic::drivers
