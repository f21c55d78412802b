// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/process/own_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "nic/process/signal_blocker.h"

namespace urnic::nic {
namespace {

/// As the kernel has them, from processor 0 on.
using Mask = std::vector<unsigned long>;

constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
/// More than any kernel counts.
constexpr std::size_t kMostProcessors = 1 << 16;

std::size_t bytes_of(const Mask& mask) {
  return mask.size() * sizeof(unsigned long);
}

/// Of the calling thread; empty where the system does not tell. By number: glibc's function wants to know the
/// size beforehand.
Mask mask_of_this_thread() {
  Mask mask(kMostProcessors / kBits);
  const long bytes = syscall(SYS_sched_getaffinity, 0, bytes_of(mask), mask.data());
  mask.resize(bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof(unsigned long) : 0);
  return mask;
}

bool run_on(const Mask& mask) {
  return !mask.empty() && syscall(SYS_sched_setaffinity, 0, bytes_of(mask), mask.data()) == 0;
}

/// Processors are the process's. A library that a program is linked with is loaded before the program pins
/// itself.
struct OwnProcessors {
  std::mutex mutex;
  Mask mask = mask_of_this_thread();
};
OwnProcessors& own_processors = *new OwnProcessors;  // never destroyed

Mask current_mask() {
  const std::lock_guard lock(own_processors.mutex);
  return own_processors.mask;
}

}  // namespace

std::mutex& own_processors_mutex() {
  return own_processors.mutex;
}

void run_as_own_thread() {
  run_on(current_mask());
  const sched_param none{};
  if (sched_getscheduler(0) != SCHED_OTHER) sched_setscheduler(0, SCHED_OTHER, &none);
}

std::thread start_own_thread(const char* name, std::function<void()> body) {
  const SignalBlocker blocker;
  std::thread thread([run = std::move(body)] {
    run_as_own_thread();
    run();
  });
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

// A thread's processors are tried out on the calling one, which has its own again afterwards.
Result<void, Error> choose_own_processors(std::span<const unsigned> processors) {
  Mask chosen;
  for (const unsigned processor : processors) {
    if (processor >= kMostProcessors) continue;
    chosen.resize(std::max<std::size_t>(chosen.size(), processor / kBits + 1));
    chosen[processor / kBits] |= 1ul << (processor % kBits);
  }
  const Mask before = mask_of_this_thread();
  const bool may_run = run_on(chosen);
  run_on(before);
  if (!may_run) {
    return failure(Error{.code = EINVAL, .message = "this process may run on none of these processors"});
  }
  const std::lock_guard lock(own_processors.mutex);
  own_processors.mask = std::move(chosen);
  return success();
}

}  // namespace urnic::nic
