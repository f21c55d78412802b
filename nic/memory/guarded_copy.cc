// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/guarded_copy.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace urnic::nic {
namespace {

// The kernel reports pages that are not there in place of a signal. A process may always do this to itself.
// By number, as the rest of what the NIC's thread asks of the kernel: the C library's functions may have been
// replaced. Numbers are long: of an int, half of what the kernel reads may be anything.
bool transfer(long operation, std::byte* ours, std::byte* guarded, std::size_t size) {
  const iovec local{.iov_base = ours, .iov_len = size};
  const iovec remote{.iov_base = guarded, .iov_len = size};
  return syscall(operation, syscall(SYS_getpid), &local, 1L, &remote, 1L, 0L) == static_cast<long>(size);
}

}  // namespace

bool can_copy_guarded() {
  static const bool can = [] {
    std::byte from{1};
    std::byte to{0};
    return copy_from_guarded({&to, 1}, &from) && to == from;
  }();
  return can;
}

bool copy_from_guarded(std::span<std::byte> to, const std::byte* from) {
  return transfer(SYS_process_vm_readv, to.data(), const_cast<std::byte*>(from), to.size());
}

bool copy_to_guarded(std::byte* to, std::span<const std::byte> from) {
  return transfer(SYS_process_vm_writev, const_cast<std::byte*>(from.data()), to, from.size());
}

}  // namespace urnic::nic
