// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A snapshot of a device, written down for other processes.
#pragma once

#include <string>

#include "nic/diagnostics/snapshot.h"

namespace urnic::nic {

/// One JSON object in UTF-8 without line breaks; `urnic stat --help` documents its members,
/// tools/inspection/stat/snapshot_reader.h reads it. What is no UTF-8 in the program's name is replaced.
/// Throws std::bad_alloc.
std::string to_json(const DeviceSnapshot& snapshot);

}  // namespace urnic::nic
