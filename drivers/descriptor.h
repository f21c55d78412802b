// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Descriptor, as drivers call it.
#pragma once

#include "nic/process/descriptor.h"

namespace urnic::drivers {

using nic::Descriptor;

}  // namespace urnic::drivers
