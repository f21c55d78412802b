// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// TimerQueue: which queue pair's timer runs out next.
#pragma once

#include <boost/intrusive/options.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/intrusive/set_hook.hpp>

#include "transport/time.h"

namespace urnic::nic {

class QueuePair;

/// A queue pair's place in the timer queue.
class Timer : public boost::intrusive::set_base_hook<> {
 public:
  explicit Timer(QueuePair& owner) : owner_(owner) {}

  QueuePair& owner() const { return owner_; }

  friend bool operator<(const Timer& a, const Timer& b) { return a.registered_ < b.registered_; }

 private:
  friend class TimerQueue;

  QueuePair& owner_;
  transport::Time registered_ = transport::kNever;
};

/// Timers move nearly always into the future, and long before they run out: a deadline that becomes later
/// leaves the registration where it is. The timer then runs out too early, and the scheduler registers it
/// again. So a busy connection touches the queue once per timeout and not once per packet, and an idle one
/// not at all. Those that are due at the same time run out in the order in which they were registered.
class TimerQueue {
 public:
  /// `timer` is to run out at `deadline`, or a little earlier for nothing; kNever takes nothing back.
  void expect(Timer& timer, transport::Time deadline) {
    if (deadline >= timer.registered_) return;
    cancel(timer);
    timer.registered_ = deadline;
    timers_.insert(timer);
  }

  void cancel(Timer& timer) {
    if (timer.is_linked()) timers_.erase(timers_.iterator_to(timer));
    timer.registered_ = transport::kNever;
  }

  /// When the first one runs out; kNever when there is none.
  transport::Time next() const { return timers_.empty() ? transport::kNever : timers_.begin()->registered_; }

  /// Takes the first one out if it has run out; null otherwise.
  Timer* pop_expired(transport::Time now) {
    if (next() > now) return nullptr;
    if (timers_.empty()) return nullptr;
    Timer& timer = *timers_.begin();
    cancel(timer);
    return &timer;
  }

 private:
  boost::intrusive::multiset<Timer, boost::intrusive::constant_time_size<false>> timers_;
};

}  // namespace urnic::nic
