// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What state a process is in.
#pragma once

namespace urnic::nic {

/// Whether the process, of this pid namespace, has begun to end: it exits, or was killed, and may have
/// descriptors still. False for one that is not there.
bool is_ending(int process);

/// Whether the process was stopped, by a signal or a debugger.
bool is_stopped(int process);

}  // namespace urnic::nic
