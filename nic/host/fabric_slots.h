// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which of a fabric's switches connects the NIC in which slot.
#pragma once

namespace urnic::nic {

/// A fabric has one switch until more NICs come than DPDK has ports for in a process. Then others join in,
/// each connected to the first one by a wire of its own, a trunk.
inline constexpr unsigned kFabricSwitches = 8;

/// How many NICs the first switch connects, beside the trunks of all others and an uplink.
inline constexpr unsigned kFirstSwitchPorts = 24;

/// How many NICs each other one connects, beside its trunk.
inline constexpr unsigned kOtherSwitchPorts = 31;

/// How many NICs a fabric connects.
inline constexpr unsigned kFabricPorts = kFirstSwitchPorts + (kFabricSwitches - 1) * kOtherSwitchPorts;

/// The switch, 0 to kFabricSwitches - 1, of a slot below kFabricPorts.
constexpr unsigned switch_of_slot(unsigned slot) {
  return slot < kFirstSwitchPorts ? 0 : 1 + (slot - kFirstSwitchPorts) / kOtherSwitchPorts;
}

}  // namespace urnic::nic
