// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CompletionChannel: a file descriptor that tells that completion queues have something.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <boost/intrusive/options.hpp>
#include <cstdint>
#include <mutex>

#include "transport/result.h"

namespace urnic::nic {

class CompletionQueue;

/// A completion queue's place in its channel.
struct ChannelEntry : boost::intrusive::list_base_hook<> {
  std::uint32_t events = 0;  ///< waiting to be fetched; in the channel's list while there are any
};

/// An eventfd in semaphore mode and a queue beside it: the descriptor is readable exactly while events wait,
/// and may be polled, epolled and set O_NONBLOCK by the program: get_event really reads it, because programs
/// cancel the thread that waits there.
class CompletionChannel {
 public:
  CompletionChannel();  ///< check fd() >= 0
  ~CompletionChannel();
  CompletionChannel(const CompletionChannel&) = delete;
  CompletionChannel& operator=(const CompletionChannel&) = delete;

  int fd() const { return fd_; }

  /// Waits in read() on fd() and returns the oldest event's queue; an error code (EAGAIN, EINTR, ...) when
  /// the read failed. Counts the event in the queue's events_fetched, under the lock. Any thread; the thread
  /// may be cancelled while it waits.
  Result<CompletionQueue*, int> wait();

  /// Adds an event of `queue`. Never blocks. Called by the engine.
  void notify(CompletionQueue& queue);
  /// How many events of `queue` wait to be fetched.
  std::uint32_t events_of(const CompletionQueue& queue);
  /// Forgets events of a queue that is about to be destroyed and were not fetched.
  void forget(CompletionQueue& queue);

 private:
  int fd_;
  std::mutex mutex_;  // of all below; held for a few instructions, never around a system call that waits
  boost::intrusive::list<ChannelEntry, boost::intrusive::constant_time_size<false>> entries_;
  std::uint32_t forgotten_ = 0;  // events that a waiting thread has read from fd_ and must not look for
};

}  // namespace urnic::nic
