// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program does to be on a fabric: have a switch, and a port of it. Further switches do the same.
#pragma once

#include <cstdint>
#include <string>

#include "nic/host/port_spec.h"
#include "transport/result.h"

namespace urnic::drivers {

/// A port of a fabric's switch.
struct FabricPort {
  std::string socket;        ///< where it serves: the back of a vhost-user wire connects to it
  bool is_switched = false;  ///< a network lies between the programs: direct links would pass by it
};

/// Has the switch of the fabric `spec.target` that is for it make the port `spec.slot`, and starts
/// `switch_program` on demand when that does not run. `link_mtu` is the NIC's, in bytes; EINVAL when the
/// fabric carries less. Takes about 150 ms when the switch has to be started, and gives up after ten seconds.
/// The errors are for a person. Safe from any thread. `last_words`, if any, is the file of a
/// nic::LastWordsTable, which the switch reads when the process was killed.
Result<FabricPort, Error> join_fabric(const nic::PortSpec& spec, std::uint16_t link_mtu,
                                      const std::string& switch_program, int last_words = -1);

/// A wire from the first switch of a fabric to another one.
struct Trunk {
  std::string socket;          ///< the other one is its vhost-user back
  std::uint16_t link_mtu = 0;  ///< what it has to carry, bytes
};

/// Has the first switch of the fabric make the trunk to the switch `number`; otherwise as join_fabric().
Result<Trunk, Error> join_first_switch(const std::string& fabric, unsigned number,
                                       const std::string& switch_program);

}  // namespace urnic::drivers
