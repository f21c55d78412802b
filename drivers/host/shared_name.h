// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The name by which all programs of a user find the switch of the host, whatever runtime folder they have.
#pragma once

#include "drivers/descriptor.h"
#include "nic/host/switch_files.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Takes that name, which serves as a lock, with a socket that does not listen yet. EBUSY: another switch of
/// this user has it. Returns no socket where another user has the name: then programs find the switch by its
/// file. Waits two seconds at most for a switch that begins or ends.
Result<Descriptor, Error> claim_shared_name(const nic::SwitchFiles& files);

}  // namespace urnic::drivers
