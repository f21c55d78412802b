// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// take_snapshot: looks at a whole device, to show it to people.
#pragma once

#include "nic/device/device.h"
#include "nic/diagnostics/snapshot.h"

namespace urnic::nic {

/// Looks at the device, from any thread. The engine lock is held for a few dozen queue pairs or ids at a time
/// and nothing is allocated meanwhile, so that traffic goes on between; what is said of two of them need not
/// be of the same moment. Not in the child of a fork. Throws std::bad_alloc.
DeviceSnapshot take_snapshot(Device& device);

}  // namespace urnic::nic
