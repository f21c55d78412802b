// The folder that stands in for /sys/class/infiniband, /sys/kernel/debug/mlx5 and /dev/infiniband.
#pragma once

#include <string>
#include <vector>

#include "nic/config.h"
#include "nic/host/lock_file.h"
#include "transport/result.h"

namespace urnic::tools {

/// A folder of files, `FOLDER/<process>.<PID namespace>`, that shows the devices as the kernel would: plain
/// files under sys, of which the parameters of congestion control can be written
/// (nic/congestion/parameter_watch.h) and have two names each, and the devices' nodes under dev as links to
/// /dev/null. lib/urnic/liburnic_paths.so, preloaded, leads programs there.
///
/// It is named after this process, which is to become the program, and locked by a descriptor that the
/// program inherits. The process that makes the next folder removes each one whose process and lock are gone.
/// The errors are the file system's.
Result<std::string, Error> make_path_tree(const std::string& folder,
                                          const std::vector<nic::DeviceConfig>& devices);

}  // namespace urnic::tools
