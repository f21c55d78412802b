// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the kernel would show of the device below /sys/class/infiniband.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic/path/gid_table.h"
#include "nic/personality/identity.h"

namespace urnic::verbs_api {

// `identity` is the one of another NIC that the device has; null: its own.

/// What the file `name` ("ports/1/state") in the device's directory contains, without a line feed; nothing
/// for a file that is not there.
std::optional<std::string> sysfs_text(const nic::GidTable& gids, const nic::Identity* identity,
                                      std::string_view name);

/// All names that sysfs_text() knows.
std::vector<std::string> sysfs_names(const nic::GidTable& gids, const nic::Identity* identity);

}  // namespace urnic::verbs_api
