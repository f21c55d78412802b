// SignalBlocker: threads of ours are no place for the program's signal handlers.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace urnic::nic {

/// Blocks all signals for the threads that are made meanwhile: they inherit the mask.
class SignalBlocker {
 public:
  SignalBlocker() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalBlocker() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalBlocker(const SignalBlocker&) = delete;
  SignalBlocker& operator=(const SignalBlocker&) = delete;

 private:
  sigset_t before_;
};

}  // namespace urnic::nic
