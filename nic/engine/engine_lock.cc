// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/engine_lock.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "nic/process/may_wait.h"

namespace urnic::nic {
namespace {
// Not std::atomic::wait(), which yields a few times before it sleeps. Leaves errno alone, as verbs do that
// succeed.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  const int before = errno;
  syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
  errno = before;
}
}  // namespace

void EngineLock::lock() {
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  waiting_.fetch_add(1);
  while (!try_take()) {
    const std::uint32_t word = word_.load();
    if ((word & kHeld) != 0) futex(word_, FUTEX_WAIT, word);
  }
  waiting_.fetch_sub(1);
  cancel_state_ = before;
  note_engine_lock(+1);
}

bool EngineLock::try_lock() {
  if (waiting_.load(std::memory_order_relaxed) > 0) return false;
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  if (!try_take()) {
    pthread_setcancelstate(before, nullptr);
    return false;
  }
  cancel_state_ = before;
  note_engine_lock(+1);
  return true;
}

// A thread that waits has said so before it found the lock held: so either it is seen here, or it finds the
// lock free.
bool EngineLock::unlock() {
  const int before = cancel_state_;
  note_engine_lock(-1);
  const bool was_asked = (word_.fetch_and(~kHeld) & kAsked) != 0;
  if (waiting_.load() > 0) futex(word_, FUTEX_WAKE, 1);
  pthread_setcancelstate(before, nullptr);
  return was_asked;
}

}  // namespace urnic::nic
