// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SignalBlocker: threads of ours are no place for the program's signal handlers.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace urnic::nic {

/// Blocks all signals for the threads that are made meanwhile: they inherit the mask. The signals of memory
/// faults are not blocked: the kernel would then end the process without asking a handler (fault_guard.h).
class SignalBlocker {
 public:
  SignalBlocker() {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalBlocker() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalBlocker(const SignalBlocker&) = delete;
  SignalBlocker& operator=(const SignalBlocker&) = delete;

 private:
  sigset_t before_;
};

}  // namespace urnic::nic
