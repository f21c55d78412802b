// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ProgressThread: the NIC's own thread, and when it works.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "nic/config.h"
#include "nic/process/descriptor.h"
#include "transport/result.h"
#include "transport/time.h"

namespace urnic::nic {

class Engine;

/// The thread makes progress when the program does not, and stays out of the way when it does. It is in one
/// of three states:
///
///   SPIN   runs rounds one after the other; 100 us without work lead to SLEEP, a program that polls to
///          WATCH.
///   WATCH  the program polls: the thread only looks every millisecond whether it still does, more often
///          where the program had no turn on a processor lately.
///   SLEEP  the port is armed: a frame, a timer or a kick ends it. A port without a wake descriptor is polled
///          about every half millisecond, and every millisecond when it is quiet.
///
/// A program counts as polling while no completion queue is armed, since a program that asked to be woken may
/// sleep at any moment. A program that polls but spins on its memory in between (one-sided traffic: it waits
/// for what the peer writes) is found out by the frames that wait when the thread takes over from WATCH, and
/// the program has run meanwhile; for a while, longer each time, its polling is then not relied on.
///
/// Between two looks in SPIN the thread yields, for the program may need its core. Where the program does not
/// poll and something else has the core for long, it goes to SLEEP at once instead: who is woken runs within
/// microseconds, who has yielded waits for the end of the other's turn.
class ProgressThread {
 public:
  explicit ProgressThread(Engine& engine) : engine_(engine) {}
  /// The thread was stopped.
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Starts it, with all signals blocked. The error is the system's.
  Result<void, Error> start(ProgressMode mode);
  /// Ends it; returns when it has ended. Does nothing when it does not run.
  void stop();

  // --- Told by the program's threads ---

  /// One of them has run a round at `now`, in ibv_poll_cq if `is_poll`. Under the engine lock.
  void on_application_round(bool is_poll, transport::Time now);
  /// Something is due at that time. Under the engine lock.
  void on_deadline(transport::Time due);
  /// Work was posted that only this thread will look at.
  void on_doorbell();
  /// Something for this thread to do.
  void wake();

  /// A completion queue was armed for notification; a notification was sent or is not wanted any more.
  void queue_armed() { armed_queues_.fetch_add(1, std::memory_order_seq_cst); }
  void queue_disarmed() { armed_queues_.fetch_sub(1, std::memory_order_seq_cst); }
  /// After queue_armed(): the program may go to sleep now.
  void on_notification_requested();
  /// Whether the program polls so often that this thread leaves all rounds to it. Any thread.
  bool relies_on_polls() const {
    return state_.load(std::memory_order_seq_cst) == State::kWatch && !is_anyone_armed();
  }

 private:
  enum class State : std::uint8_t { kNotRunning, kSpin, kWatch, kSleep };

  void run();
  void spin();
  void watch();
  void sleep();
  bool prepare_to_sleep(bool waits_for_lock);
  bool is_program_away(transport::Time now);
  bool wait(int port_fd, transport::Duration at_most);
  bool is_anyone_armed() const { return armed_queues_.load(std::memory_order_seq_cst) > 0; }
  bool is_polling(std::uint64_t polls_before, transport::Time now) const;
  void take_over(transport::Time watched_since, bool has_run);

  Engine& engine_;
  ProgressMode mode_ = ProgressMode::kManual;
  Descriptor wake_;  // an eventfd
  std::thread thread_;
  std::atomic<bool> is_stopping_{false};

  /// Set to kWatch by a polling thread that finds kSleep, under the engine lock; otherwise by this thread
  /// only.
  std::atomic<State> state_{State::kNotRunning};
  std::atomic<bool> is_kicked_{false};  // wake_ was written and not read since
  std::atomic<std::int32_t> armed_queues_{0};
  std::atomic<std::uint64_t> requests_{0};  // for notification, ever

  // Written under the engine lock:
  std::atomic<std::uint64_t> polls_{0};                 // rounds run in ibv_poll_cq, ever
  std::atomic<std::uint64_t> polls_before_request_{0};  // as many as there were before the last request
  std::uint64_t requests_seen_ = 0;
  std::uint64_t polls_before_sleep_ = 0;
  transport::Time sleep_until_{};

  std::atomic<transport::Time> not_relied_on_until_{transport::Time{}};

  // This thread's own:
  transport::Time crowded_until_{};  // another thread needs the core that we would spin on
  int port_fd_ = -1;                 // of the armed port, while it sleeps
  bool has_reason_to_spin_ = true;   // not just woken by the clock
  transport::Time last_work_{};
  transport::Time polls_looked_at_{};  // see is_program_away()
  std::uint64_t polls_then_ = 0;
  bool is_away_ = false;
  transport::Time without_turn_at_{};  // the program, though frames waited for it
  transport::Time watches_closely_until_{};
  transport::Duration patience_{};  // for how long the program will not be relied on next time
};

}  // namespace urnic::nic
