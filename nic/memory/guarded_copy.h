// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Copies of memory that may not be there.
#pragma once

#include <cstddef>
#include <span>

namespace urnic::nic {

/// Whether this system lets a process copy so; some sandboxes do not. Asked of the kernel once. Any thread.
bool can_copy_guarded();

/// Copies `to.size()` bytes from `from`, or to `to`, in this process. False where not every page can be read,
/// or written; what lies before the first such page may have been copied then. A system call; pages are
/// faulted in as by any access. The other side of the copy must be there.
bool copy_from_guarded(std::span<std::byte> to, const std::byte* from);
bool copy_to_guarded(std::byte* to, std::span<const std::byte> from);

}  // namespace urnic::nic
