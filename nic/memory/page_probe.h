// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whether memory can be used before it is registered.
#pragma once

#include <cstddef>

namespace urnic::nic {

/// Whether every page of the `length` bytes at `memory` can be read (and written, if `writable`), now and by
/// this process; no bytes are none, wherever they are. Changes no byte, not even while other threads write
/// there. Pages are made present where the kernel can do so in one call (Linux 5.14), as registration with
/// hardware does by pinning them. The range must not wrap around. Any thread.
bool can_access(const void* memory, std::size_t length, bool writable);

/// The same page by page, for kernels and mappings that cannot be populated.
bool can_access_each_page(const void* memory, std::size_t length, bool writable);

}  // namespace urnic::nic
