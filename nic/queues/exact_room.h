// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whether queues have exactly the room that was requested.
#pragma once

#include "nic/adversary/adversary.h"
#include "nic/personality/room.h"
#include "nic/queues/needs/device_facts.h"

namespace urnic::nic {

inline bool has_exact_room(const DeviceFacts& device) {
  const Adversary* const adversary = device.adversary();
  const bool wants_adversary = adversary != nullptr && adversary->does(Behavior::kExactRoom);
  return wants_adversary || is_room_exact(*device.config().personality);
}

}  // namespace urnic::nic
