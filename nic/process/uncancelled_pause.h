// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// pause_uncancelled(): a sleep in the middle of a verb.
#pragma once

#include <pthread.h>

#include <thread>

#include "nic/process/may_wait.h"
#include "transport/time.h"

namespace urnic::nic {

/// Sleeps for `duration`. A program may cancel its threads, but not inside of a verb, which would leave
/// things half done.
inline void pause_uncancelled(transport::Duration duration) {
  assert_may_wait();
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  std::this_thread::sleep_for(duration);
  pthread_setcancelstate(before, nullptr);
}

}  // namespace urnic::nic
