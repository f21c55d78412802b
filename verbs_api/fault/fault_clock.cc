// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/fault/fault_clock.h"

#include <fmt/core.h>

#include <system_error>

#include "nic/process/may_wait.h"
#include "nic/process/own_thread.h"

namespace urnic::verbs_api {

Result<std::unique_ptr<FaultClock>, Error> FaultClock::start(Raise raise) {
  std::unique_ptr<FaultClock> clock(new FaultClock(std::move(raise)));
  try {
    FaultClock& started = *clock;
    clock->thread_ = nic::start_own_thread("urnic-faults", [&started] { started.run(); });
  } catch (const std::system_error& error) {
    return Error{.code = error.code().value(),
                 .message = fmt::format("faults that wait for a time do not come: thread: {}",
                                        error.code().message())};
  }
  return clock;
}

FaultClock::~FaultClock() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_one();
  nic::assert_may_wait();
  thread_.join();
}

void FaultClock::add(Time due, const FaultMoment& moment) {
  {
    const std::lock_guard lock(mutex_);
    moments_.emplace(due, moment);
  }
  changed_.notify_one();
}

void FaultClock::run() {
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    if (moments_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto next = moments_.begin();
    if (next->first > std::chrono::steady_clock::now()) {
      const Time due = next->first;
      changed_.wait_until(lock, due);
      continue;
    }
    const FaultMoment moment = next->second;
    moments_.erase(next);
    lock.unlock();
    raise_(moment);
    lock.lock();
  }
}

}  // namespace urnic::verbs_api
