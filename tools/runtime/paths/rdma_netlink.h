// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Sockets of the family NETLINK_RDMA, which a library of ours answers that only programs with such a socket
// load (tools/runtime/netlink).
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace urnic::paths {

/// Writes to such a socket. False: `descriptor` is another one, and nothing was done.
bool write_rdma_netlink(int descriptor, const void* bytes, size_t size, ssize_t& written);
/// The program is about to close a descriptor, of whatever.
void close_rdma_netlink(int descriptor);

}  // namespace urnic::paths
