// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/completion_channel.h"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "nic/queues/completion_queue.h"

namespace urnic::nic {
namespace {

/// Takes one event out of a semaphore without waiting, whatever the descriptor's flags; false when there is
/// none.
bool try_take(int fd) {
  std::uint64_t one = 0;
  const iovec to{.iov_base = &one, .iov_len = sizeof one};
  constexpr long kCurrentPosition = -1;
  return syscall(SYS_preadv2, fd, &to, 1L, kCurrentPosition, kCurrentPosition, RWF_NOWAIT) ==
         static_cast<long>(sizeof one);
}

}  // namespace

CompletionChannel::CompletionChannel() : fd_(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)) {}

CompletionChannel::~CompletionChannel() {
  if (fd_ >= 0) close(fd_);
}

Result<CompletionQueue*, int> CompletionChannel::wait() {
  while (true) {
    std::uint64_t one = 0;
    // The C library's read(), which is a cancellation point.
    if (read(fd_, &one, sizeof one) != static_cast<ssize_t>(sizeof one)) return failure(errno);

    const std::lock_guard hold(mutex_);
    if (forgotten_ > 0) {
      --forgotten_;
      continue;
    }
    // A program that writes to the descriptor itself gets this.
    if (entries_.empty()) return failure(EAGAIN);
    ChannelEntry& entry = entries_.front();
    entries_.pop_front();
    if (--entry.events > 0) entries_.push_back(entry);
    auto* const queue = static_cast<CompletionQueue*>(&entry);
    queue->events_fetched.fetch_add(1, std::memory_order_relaxed);
    return queue;
  }
}

void CompletionChannel::notify(CompletionQueue& queue) {
  {
    const std::lock_guard hold(mutex_);
    ChannelEntry& entry = queue;
    if (entry.events++ == 0) entries_.push_back(entry);
  }
  const std::uint64_t one = 1;
  // Not the C library's write(), which librspreload replaces.
  syscall(SYS_write, fd_, &one, sizeof one);
}

std::uint32_t CompletionChannel::events_of(const CompletionQueue& queue) {
  const std::lock_guard hold(mutex_);
  const ChannelEntry& entry = queue;
  return entry.events;
}

void CompletionChannel::forget(CompletionQueue& queue) {
  const std::lock_guard hold(mutex_);
  ChannelEntry& entry = queue;
  if (entry.events == 0) return;
  entries_.erase(entries_.iterator_to(entry));
  for (; entry.events > 0; --entry.events) {
    if (!try_take(fd_)) ++forgotten_;
  }
}

}  // namespace urnic::nic
