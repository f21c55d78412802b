// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reads what a process says about its NIC.
#pragma once

#include <string_view>

#include "nic/diagnostics/snapshot.h"
#include "transport/result.h"

namespace urnic::tools {

/// The reader of nic::to_json(). Any bytes at all are taken: what is no such snapshot, of this version, is an
/// error for a person to read. Members that it does not know are passed over.
Result<nic::DeviceSnapshot, Error> read_snapshot(std::string_view json);

}  // namespace urnic::tools
