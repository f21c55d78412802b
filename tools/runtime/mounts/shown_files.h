// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The device's files where the kernel would have them, for programs that the preloaded library does not
// reach.
#pragma once

#include <string>

#include "transport/result.h"

namespace urnic::tools {

/// In the mount namespace of this process, which must be its own (mount_namespace.h), has `tree`, which
/// tools/command/path_tree.h makes, stand at /sys/class, /sys/devices, /dev and, where they can be read, at
/// the files of mlx5's driver below /sys/kernel/debug and at the device of a network interface. Sysfs takes
/// no new folders: one that needs an additional entry is covered by a tmpfs, in which all that was there is
/// mounted again or linked. A folder that is there already, of another RDMA device, is covered by ours.
///
/// Nothing of it can be written, except what sysfs would let be written. On an error nothing is covered.
Result<void, Error> show_files_by_mounts(const std::string& tree);

}  // namespace urnic::tools
