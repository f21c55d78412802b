// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/late_waiter.h"

#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "verbs_api/abi/descriptor_identity.h"
#include "verbs_api/rdma_cm/program_memory.h"

namespace urnic::verbs_api {
namespace {

/// How late a thread may be. A program that asks later has a fault, and its call fails.
constexpr std::chrono::milliseconds kLatest = std::chrono::seconds(1);

/// Of threads, that they fit beside a time: the kernel's numbers are lower than 2^22.
constexpr int kThreadBits = 22;

// The last closing: milliseconds since the host started, and the thread that did it; 0 when it is too long
// ago to count.
constinit std::atomic<std::uint64_t> time_and_thread{0};
constinit std::atomic<dev_t> closed_device{0};
constinit std::atomic<ino_t> closed_inode{0};

std::uint64_t this_thread() {
  return static_cast<std::uint64_t>(syscall(SYS_gettid));
}

std::uint64_t now_in_milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

/// By number: librspreload replaces the C library's function.
bool blocks(int descriptor) {
  const long flags = syscall(SYS_fcntl, static_cast<long>(descriptor), static_cast<long>(F_GETFL));
  return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

bool names_nothing_or_what_was_closed(int descriptor) {
  const auto identity = DescriptorIdentity::of(descriptor);
  return !identity ||
         *identity == DescriptorIdentity{.device = closed_device.load(), .inode = closed_inode.load()};
}

}  // namespace

bool asks_for_event(const void* bytes, std::size_t size) {
  rdma_ucm_cmd_hdr header{};
  return size == sizeof(header) + sizeof(rdma_ucm_get_event) &&
         copy_from_program(std::as_writable_bytes(std::span(&header, 1)),
                           reinterpret_cast<std::uintptr_t>(bytes)) &&
         header.cmd == RDMA_USER_CM_CMD_GET_EVENT && header.in == sizeof(rdma_ucm_get_event);
}

void note_closing(int descriptor) {
  const auto channel = DescriptorIdentity::of(descriptor);
  if (!channel || !blocks(descriptor)) {
    time_and_thread = 0;
    return;
  }
  closed_device = channel->device;
  closed_inode = channel->inode;
  time_and_thread = now_in_milliseconds() << kThreadBits | this_thread();
}

bool is_late_waiter(int descriptor, const void* bytes, std::size_t size) {
  std::uint64_t closing = time_and_thread;
  if (closing == 0 || !asks_for_event(bytes, size)) return false;
  if (now_in_milliseconds() - (closing >> kThreadBits) >= static_cast<std::uint64_t>(kLatest.count())) {
    time_and_thread.compare_exchange_strong(closing, 0);
    return false;
  }
  const std::uint64_t closer = closing & ((std::uint64_t{1} << kThreadBits) - 1);
  return closer != this_thread() && names_nothing_or_what_was_closed(descriptor);
}

}  // namespace urnic::verbs_api
