// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/page_probe.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

// Older C libraries do not name them yet.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace urnic::nic {
namespace {

struct PageRange {
  std::uintptr_t first;
  std::uintptr_t page_size;
  std::size_t count;
};

PageRange pages_of(const void* memory, std::size_t length) {
  const auto page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = address & ~(page_size - 1);
  return {.first = first, .page_size = page_size, .count = (address - first + length - 1) / page_size + 1};
}

/// Whether the range ends where the address space does, with a page that no process has. The end is address 0
/// then, and the kernel takes a range that ends where it begins for an empty one, which is fine.
bool has_last_page_of_all(const PageRange& range) {
  return range.first + range.count * range.page_size == 0;
}

// The kernel reads the signal set before it finds that there is no such operation. The set is not at the
// beginning of the page, as the first page of all would then be a null pointer: no set.
bool is_readable(std::uintptr_t page) {
  constexpr int kNoOperation = -1;
  constexpr std::size_t kKernelSetBytes = 8;
  syscall(SYS_rt_sigprocmask, kNoOperation, page + kKernelSetBytes, nullptr, kKernelSetBytes);
  return errno != EFAULT;
}

// The kernel adds nothing, atomically, to the first word of the page. Should a thread sleep on that word as a
// futex, it may wake up for nothing, which every futex may.
bool is_writable(std::uintptr_t page) {
  std::uint32_t our_word = 0;
  constexpr int kWakeNone = 0;
  const int add_nothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0);
  const long result = syscall(SYS_futex, &our_word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, kWakeNone, kWakeNone,
                              page, add_nothing);
  return result >= 0 || errno != EFAULT;
}

}  // namespace

bool can_access_each_page(const void* memory, std::size_t length, bool writable) {
  if (length == 0) return true;
  const PageRange range = pages_of(memory, length);
  for (std::size_t i = 0; i < range.count; ++i) {
    const std::uintptr_t page = range.first + i * range.page_size;
    if (!is_readable(page) || (writable && !is_writable(page))) return false;
  }
  return true;
}

bool can_access(const void* memory, std::size_t length, bool writable) {
  if (length == 0) return true;
  const PageRange range = pages_of(memory, length);
  if (has_last_page_of_all(range)) return false;
  const int advice = writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  if (madvise(reinterpret_cast<void*>(range.first), range.count * range.page_size, advice) == 0) return true;
  // EINVAL says many things: an old kernel, device memory, missing rights. Ask more exactly.
  return errno == EINVAL && can_access_each_page(memory, length, writable);
}

}  // namespace urnic::nic
