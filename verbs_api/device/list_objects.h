// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the program has made by verbs, for others to see. opening/list_objects.cc, which knows the objects,
// defines it.
#pragma once

#include "nic/diagnostics/program_objects.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// Adds the open contexts of the device and what the program has made in them, by number, except memory
/// regions, which the device knows. Any thread.
void list_objects(const ibv_device& device, nic::ProgramObjects& to);

}  // namespace urnic::verbs_api
