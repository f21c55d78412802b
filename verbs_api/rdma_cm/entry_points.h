// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the preloaded library calls when a program uses /dev/infiniband/rdma_cm (tools/runtime/paths). In
// place of the C library's functions of these names, with their results and errno.
#pragma once

#include <sys/types.h>

#include <cstddef>

extern "C" {

/// `flags` as in open(2).
[[gnu::visibility("default")]] int urnic_rdma_cm_open(int flags);
/// Whether the descriptor is one of open(): 1 or 0. Also in signal handlers; leaves errno alone.
[[gnu::visibility("default")]] int urnic_rdma_cm_owns(int descriptor);
/// Sets `*handled` to 0, and does nothing, if the descriptor is none of open(); otherwise to 1.
[[gnu::visibility("default")]] ssize_t urnic_rdma_cm_write(int descriptor, const void* bytes,
                                                           std::size_t size, int* handled);
/// The program is about to close the descriptor, which is the caller's to do.
[[gnu::visibility("default")]] void urnic_rdma_cm_close(int descriptor);

}  // extern "C"
