// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Work on behalf of DPDK, kept away from the program's own threads.
#pragma once

#include <functional>

#include "transport/result.h"

namespace urnic::drivers {

/// Runs `task` on a thread made for it, on which every signal is blocked, and waits for its end.
///
/// Whatever starts threads in DPDK (EAL, the vhost library) has to run here: new threads inherit the signal
/// mask, and a program's signals must not land on threads that it does not know. EAL also pins the thread
/// that starts it, and the drivers write to sockets without MSG_NOSIGNAL: here a SIGPIPE stays pending and
/// ends with the thread.
///
/// Not a cancellation point. Fails only when no thread can be made.
Result<void, Error> run_shielded(const std::function<void()>& task);

/// Whether the calling thread is one of those made here.
bool on_shielded_thread();

/// A thread on which every signal is blocked, for work that outlives the call that starts it.
class ShieldedThread {
 public:
  ShieldedThread() = default;
  ShieldedThread(const ShieldedThread&) = delete;
  ShieldedThread& operator=(const ShieldedThread&) = delete;
  ~ShieldedThread() { join(); }

  /// `task` must end by itself, or the destructor waits without end. One task at a time. `name` has at most
  /// 15 bytes.
  Result<void, Error> start(const char* name, std::function<void()> task);
  /// Waits for the end of the task, if there is one.
  void join();

 private:
  std::function<void()> task_;
  unsigned long thread_ = 0;  // pthread_t
  bool joinable_ = false;
};

}  // namespace urnic::drivers
