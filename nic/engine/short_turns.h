// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// For threads that others wait for while they spin.
#pragma once

namespace urnic::nic {

/// Asks the scheduler to give the calling thread short turns, soon, in place of long ones: since Linux 6.12 a
/// thread may, and one that wakes then need not wait until a spinning one's turn is over. Older kernels
/// refuse it, which does no harm.
void ask_for_short_turns();

}  // namespace urnic::nic
