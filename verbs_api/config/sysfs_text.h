// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the kernel would show of the device below /sys/class/infiniband.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic/config.h"
#include "nic/path/gid_table.h"

namespace urnic::verbs_api {

// Which files there are, and whom they name, `config` says by its personality and its identity.

/// What the file `name` ("ports/1/state") in the device's directory contains, without a line feed; nothing
/// for a file that is not there.
std::optional<std::string> sysfs_text(const nic::GidTable& gids, const nic::DeviceConfig& config,
                                      std::string_view name);

/// All names that sysfs_text() knows.
std::vector<std::string> sysfs_names(const nic::GidTable& gids, const nic::DeviceConfig& config);

}  // namespace urnic::verbs_api
