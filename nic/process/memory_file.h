// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Files in memory that have no name.
#pragma once

#include <sys/mman.h>

#include <cerrno>

namespace urnic::nic {

/// memfd_create() of a file that exec closes, that may be sealed, and that cannot be executed: systems with
/// vm.memfd_noexec=2 refuse others. -1 and errno.
inline int make_memory_file(const char* name) {
  constexpr unsigned kNoExecSeal =
      0x0008u;  // MFD_NOEXEC_SEAL of linux/memfd.h from 6.3 on, which older kernels do not know
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd = memfd_create(name, kFlags | kNoExecSeal);
  return fd < 0 && errno == EINVAL ? memfd_create(name, kFlags) : fd;
}

}  // namespace urnic::nic
