// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// /dev/infiniband/rdma_cm, the node by which the drop-in library does what the kernel's rdma_cm does.
#pragma once

#include <sys/types.h>

namespace urnic::paths {

/// Whether that is the node, in a program that is shown our NIC.
bool is_rdma_cm_node(const char* path);
/// Its number as a character device: the kernel's, if this host has it.
dev_t rdma_cm_device();
/// As open(2). ENODEV: the program's libibverbs is not ours.
int open_rdma_cm_node(int flags);

}  // namespace urnic::paths
