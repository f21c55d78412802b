// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The lock that makes a process a switch: of its fabric, or of its host.
#pragma once

#include <cstdint>
#include <string_view>

#include "nic/host/lock_file.h"
#include "nic/host/switch_files.h"
#include "transport/result.h"

namespace urnic::drivers {

/// What started a switch: a person, who means this one, or a program that wants any.
enum class SwitchStart : std::uint8_t { kByHand, kOnDemand };

/// What a switch serves, in words for a person.
struct ServedBySwitch {
  std::string_view what;      ///< "fabric default"
  std::string_view ended_by;  ///< "'urnic fabric stop'"
};

/// Takes the lock of a switch and writes into it what nic::running_switch() reads.
///
/// A switch that has just been told to end still holds the lock for a moment, so this waits for it, two
/// seconds at most. On demand it does not when another one takes requests, which is as good. EBUSY: another
/// process is the switch; otherwise the system's error.
Result<nic::LockFile, Error> take_switch_lock(const nic::SwitchFiles& files, const ServedBySwitch& served,
                                              std::uint16_t link_mtu, SwitchStart start);
/// The same for a switch of the fabric `name`.
Result<nic::LockFile, Error> take_switch_lock(const nic::SwitchFiles& files, std::string_view name,
                                              std::uint16_t link_mtu, SwitchStart start);

}  // namespace urnic::drivers
