// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Touching the program's memory, which the program may take away at any moment.
//
// Hardware pins the pages of a region: what the program unmaps stays, and is used unseen. A process cannot do
// that to itself: private memory has no second mapping, and pages that are pinned for io_uring or a pipe
// cannot be reached by address. It is not told in time either: much is unmapped inside the C library, where
// replacing munmap() does not help, and userfaultfd tells after the fact. Asking the kernel to copy
// (process_vm_readv, guarded_copy.h) costs a system call for each packet. What is left is to let the access
// fault and to catch that, as the kernel does with user memory. The work request then fails with a
// completion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace urnic::nic {

/// Whether the functions below catch faults in this build. Not on other processors than x86-64 and arm64, and
/// not with sanitizers, which are to see every access: there they touch memory as any code does.
extern const bool kCatchesFaults;

/// From now on the functions below fail where memory is not there, in place of SIGSEGV or SIGBUS. Installs a
/// handler for each of the two, once in a process, which passes on every other signal to the one that was
/// there before. A handler that the program installs later must do the same, or faults are the program's
/// again. Any thread.
void install_fault_guard();

// They cost nothing more than plain accesses. Any thread that does not block SIGSEGV and SIGBUS.

/// Copies `size` bytes, which do not overlap; 1, 2, 4 or 8 of them in one store. False where not every page
/// can be read, or written; a part may have been copied then.
bool try_copy(std::byte* to, const std::byte* from, std::size_t size);
/// As of std::atomic; `number` is aligned. False where the page cannot be written.
bool try_compare_exchange(std::uint64_t* number, std::uint64_t& expected, std::uint64_t desired);
bool try_fetch_add(std::uint64_t* number, std::uint64_t add, std::uint64_t& original);
bool try_store(std::uint64_t* number, std::uint64_t value);

}  // namespace urnic::nic
