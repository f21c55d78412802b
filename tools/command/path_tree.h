// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The folder that stands in for /sys/class/infiniband, /sys/kernel/debug/mlx5 and /dev/infiniband.
#pragma once

#include <string>
#include <vector>

#include "nic/config.h"
#include "nic/host/lock_file.h"
#include "transport/result.h"

namespace urnic::tools {

/// A device, and where its counters are: see ShownDevice::shared_counters.
struct TreeDevice {
  nic::DeviceConfig config;
  std::string shared_counters{};
};

/// A folder of files, `FOLDER/<process>.<PID namespace>`, that shows the devices as the kernel would (see
/// device_files.h). lib/urnic/liburnic_paths.so, preloaded, leads programs there, or a mount namespace does.
///
/// It is named after this process, which is to become the program, and locked by a descriptor that the
/// program inherits. The process that makes the next folder removes each one whose process and lock are gone.
/// It cannot see processes of other PID namespaces: there a folder goes whose lock is gone, and which is 10
/// seconds old. The errors are the file system's. The path that it returns has no links in it.
Result<std::string, Error> make_path_tree(const std::string& folder, const std::vector<TreeDevice>& devices);

}  // namespace urnic::tools
