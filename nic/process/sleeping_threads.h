// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the other threads of this process do.
#pragma once

namespace urnic::nic {

/// Whether all threads of the process but the calling one sleep until something wakes them. A thread that
/// waits for a processor, for a disk, or for its debugger does not. False if /proc does not tell.
bool do_other_threads_sleep();

}  // namespace urnic::nic
