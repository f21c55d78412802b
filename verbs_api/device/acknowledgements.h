// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How a destroy verb waits until the program has acknowledged the events of the object.
#pragma once

#include <pthread.h>
#include <time.h>

#include <string>

#include "verbs_api/sanitizer/sanitizer.h"

namespace urnic::verbs_api {

/// Waits until `is_done`, which is called with the mutex held and looks at what the acknowledging verb
/// changes before it signals `cond`. `name` returns the object's, for people.
template <typename IsDone, typename Name>
void wait_until_acknowledged(pthread_mutex_t& mutex, pthread_cond_t& cond, IsDone is_done, Name name) {
  constexpr time_t kSoonSeconds = 1;
  timespec soon{};
  clock_gettime(CLOCK_REALTIME, &soon);  // as pthread_cond_timedwait() has it
  soon.tv_sec += kSoonSeconds;
  pthread_mutex_lock(&mutex);
  bool is_late = false;
  while (!is_done()) {
    if (is_late || !sanitizer().is_on()) {
      pthread_cond_wait(&cond, &mutex);
      continue;
    }
    if (pthread_cond_timedwait(&cond, &mutex, &soon) == 0) continue;
    is_late = true;
    sanitizer().complain(Finding::kEventsNotAcknowledged, name(), [] {
      return std::string(
          "it is being destroyed, and waits for the acknowledgement of events that the program got");
    });
  }
  pthread_mutex_unlock(&mutex);
}

}  // namespace urnic::verbs_api
