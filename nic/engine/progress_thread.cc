// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/progress_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "nic/engine/engine.h"
#include "nic/engine/short_turns.h"
#include "nic/process/may_wait.h"
#include "nic/process/own_thread.h"

// The thread uses system calls and not the C library's functions of the same name, which librspreload
// replaces: they would take the port's sockets for its own.

namespace urnic::nic {

using transport::Duration;
using transport::Time;
using namespace std::chrono_literals;

namespace {

constexpr Duration kSpinTime = 100us;
/// Where a thread that spins on its memory wants the core: for the next packet of a message.
constexpr Duration kSpinTimeAlone = 3us;
/// A program that has not polled for so long waits for something else.
constexpr Duration kAwayAfter = 100us;
/// A yield that took so long has let another thread run.
constexpr Duration kLongYield = 500us;
/// For so long we then believe that there is no core for us to spin on.
constexpr Duration kCrowdedTime = 100ms;
constexpr Duration kWatchTick = 1ms;
/// Where a program that polls had no turn for so long twice within kCrowdedTime.
constexpr Duration kCloseWatchTick = 200us;
/// How often a port without a descriptor is polled: more often while something happened lately.
constexpr Duration kPollInterval = 500us;
constexpr Duration kLazyPollInterval = 900us;
constexpr Duration kWorkedLately = 20ms;
/// How long we trust a port's descriptor to wake us. A peer that dies between writing a frame and telling us,
/// or that meets a port which it has not seen armed yet, costs this much and not a timeout of the transport.
constexpr Duration kSleepMax = 1ms;
constexpr Duration kIdleSleepMax = 10ms;
/// So many polls in a row are a program that polls, and not one that looks once after being woken.
constexpr std::uint64_t kPollsThatCount = 16;
constexpr Duration kFirstPatience = 20ms;
constexpr Duration kLastPatience = 1s;
/// A program that was watched for so long without a miss is trusted as before.
constexpr Duration kTrustAfter = 100ms;

/// What all threads of the process have used.
Duration processor_time() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace

Result<void, Error> ProgressThread::start(ProgressMode mode) {
  mode_ = mode;
  if (!wake_) wake_ = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_) {
    return failure(
        Error{.code = errno, .message = std::string("cannot make an eventfd: ") + std::strerror(errno)});
  }
  state_.store(State::kSpin);
  try {
    thread_ = start_own_thread("urnic", [this] { run(); });
  } catch (const std::system_error& error) {
    state_.store(State::kNotRunning);
    return failure(Error{.code = error.code().value(),
                         .message = std::string("cannot start the NIC's thread: ") + error.what()});
  }
  return success();
}

void ProgressThread::stop() {
  if (!thread_.joinable()) return;
  assert_may_wait();
  is_stopping_.store(true);
  wake();
  thread_.join();
  state_.store(State::kNotRunning);
}

// --- Told by the program's threads ---

void ProgressThread::on_application_round(bool is_poll, Time now) {
  if (is_poll) {
    const std::uint64_t polls = polls_.load(std::memory_order_relaxed);
    const std::uint64_t requests = requests_.load(std::memory_order_relaxed);
    if (std::exchange(requests_seen_, requests) != requests) {
      polls_before_request_.store(polls, std::memory_order_relaxed);
    }
    polls_.store(polls + 1, std::memory_order_relaxed);
  }
  if (state_.load(std::memory_order_relaxed) != State::kSleep) return;

  if (is_poll && is_polling(polls_before_sleep_, now)) {
    engine_.pipeline().port().disarm();
    state_.store(State::kWatch);
    wake();
  } else if (engine_.pipeline().next_deadline(now) < sleep_until_) {
    wake();
  }
}

void ProgressThread::on_deadline(Time due) {
  if (state_.load(std::memory_order_relaxed) == State::kSleep && due < sleep_until_) wake();
}

void ProgressThread::on_doorbell() {
  if (state_.load(std::memory_order_seq_cst) == State::kSleep) wake();
}

void ProgressThread::on_notification_requested() {
  requests_.fetch_add(1, std::memory_order_relaxed);
  const State state = state_.load(std::memory_order_seq_cst);
  if (state == State::kWatch || state == State::kSleep) wake();
}

void ProgressThread::wake() {
  if (!wake_ || is_kicked_.exchange(true)) return;
  const std::uint64_t one = 1;
  syscall(SYS_write, wake_.get(), &one, sizeof one);
}

// --- The thread ---

/// Whether the program has polled often enough since it had polled `polls_before` times, and since it last
/// asked for a notification, to be relied on.
bool ProgressThread::is_polling(std::uint64_t polls_before, Time now) const {
  const std::uint64_t since = std::max(polls_before, polls_before_request_.load(std::memory_order_relaxed));
  return mode_ == ProgressMode::kHybrid &&
         polls_.load(std::memory_order_relaxed) >= since + kPollsThatCount && !is_anyone_armed() &&
         now >= not_relied_on_until_.load(std::memory_order_relaxed);
}

void ProgressThread::run() {
  ask_for_short_turns();
  patience_ = kFirstPatience;
  while (!is_stopping_.load()) {
    switch (state_.load()) {
      case State::kWatch:
        watch();
        break;
      case State::kSleep:
        sleep();
        break;
      default:
        spin();
    }
  }
}

void ProgressThread::spin() {
  const std::uint64_t polls_before = polls_.load(std::memory_order_relaxed);
  Time last_work = engine_.clock().now();
  if (!std::exchange(has_reason_to_spin_, true)) last_work -= kSpinTime;
  bool has_yielded = false;  // since there was work
  while (!is_stopping_.load(std::memory_order_relaxed)) {
    const bool worked = engine_.try_round().worked;
    const Time now = engine_.clock().now();
    if (worked) last_work = last_work_ = now;

    if (is_polling(polls_before, now)) {
      state_.store(State::kWatch, std::memory_order_seq_cst);
      // Either we see that a queue was armed just now, or the thread that armed it sees that we watch.
      if (!is_anyone_armed()) return;
      state_.store(State::kSpin, std::memory_order_seq_cst);
    }
    if (worked) has_yielded = false;
    const bool is_crowded = now < crowded_until_ && engine_.pipeline().port().wake_fd() >= 0;
    const bool is_alone = is_crowded && is_program_away(now);
    Duration patience = kSpinTime;
    if (is_crowded && has_yielded) patience = Duration::zero();
    if (is_alone) patience = kSpinTimeAlone;
    if (!worked && now - last_work >= patience && prepare_to_sleep(is_alone)) return;
    // The program's threads may have no other core to run on. Where they really ran meanwhile, spinning only
    // delays them, and us: a frame that wakes us is served sooner than one that waits until their turn is
    // over. They get one turn before we sleep: what they send us in it needs no system call to wake us, and
    // often is what we wait for. A program that does not poll only looks at its memory, where nothing comes
    // without us.
    if (!worked && !is_alone) {
      std::this_thread::yield();
      has_yielded = true;
      const Time back = engine_.clock().now();
      if (back - now >= kLongYield) crowded_until_ = back + kCrowdedTime;
    }
  }
}

/// Whether the program has not polled for a while, as far as we have looked.
bool ProgressThread::is_program_away(Time now) {
  if (now - polls_looked_at_ >= kAwayAfter) {
    const std::uint64_t polls = polls_.load(std::memory_order_relaxed);
    is_away_ = std::exchange(polls_then_, polls) == polls;
    polls_looked_at_ = now;
  }
  return is_away_;
}

void ProgressThread::watch() {
  const Time since = engine_.clock().now();
  while (!is_stopping_.load()) {
    const std::uint64_t polls_before = polls_.load(std::memory_order_relaxed);
    const Time began = engine_.clock().now();
    const Duration used_before = processor_time();
    wait(-1, began < watches_closely_until_ ? kCloseWatchTick : kWatchTick);
    if (is_anyone_armed()) {
      state_.store(State::kSpin);
      return;
    }
    if (polls_.load(std::memory_order_relaxed) == polls_before) {
      state_.store(State::kSpin);
      const Duration used = processor_time() - used_before;
      take_over(since, used >= (engine_.clock().now() - began) / 2);
      return;
    }
  }
}

/// The program has stopped polling. Frames that wait, received or to be sent, say that it should not have.
/// Received frames say so only if the program has run meanwhile: a program that has no turn on a processor
/// cannot poll, and is watched more closely for a while.
void ProgressThread::take_over(Time watched_since, bool has_run) {
  const Time now = engine_.clock().now();
  if (now - watched_since >= kTrustAfter) patience_ = kFirstPatience;
  const bool has_work_to_send = engine_.pipeline().has_rung();
  const bool has_frames = engine_.try_round().received > 0;
  if (has_frames && !has_run && now - std::exchange(without_turn_at_, now) < kCrowdedTime) {
    watches_closely_until_ = now + kCrowdedTime;
  }
  if (!(has_frames && has_run) && !has_work_to_send) return;
  not_relied_on_until_.store(now + patience_, std::memory_order_relaxed);
  patience_ = std::min(2 * patience_, kLastPatience);
}

/// Arms the port and says until when we sleep; false when there is something to do, or when the lock is not
/// free, unless we wait for it.
bool ProgressThread::prepare_to_sleep(bool waits_for_lock) {
  const std::unique_lock lock = waits_for_lock ? engine_.hold() : engine_.try_hold();
  if (!lock) return false;
  PacketPort& port = engine_.pipeline().port();
  const Time now = engine_.clock().now();
  const Time deadline = engine_.pipeline().next_deadline(now);
  if (deadline <= now) return false;
  if (port.arm()) {
    port.disarm();
    return false;
  }
  port_fd_ = port.wake_fd();
  const bool is_busy = now - last_work_ < kWorkedLately;
  const Duration look_again_after =
      port_fd_ < 0 ? (is_busy ? kPollInterval : kLazyPollInterval) : (is_busy ? kSleepMax : kIdleSleepMax);
  sleep_until_ = std::min(deadline, now + look_again_after);
  polls_before_sleep_ = polls_.load(std::memory_order_relaxed);
  state_.store(State::kSleep, std::memory_order_seq_cst);
  return true;
}

void ProgressThread::sleep() {
  // The thread that rang a doorbell while we had the lock did not answer it.
  if (!engine_.is_asked()) {
    const Duration left = sleep_until_ - engine_.clock().now();
    has_reason_to_spin_ = wait(port_fd_, std::max(left, Duration::zero()));
  }
  const std::lock_guard guard(engine_);
  if (state_.load() != State::kSleep) return;
  engine_.pipeline().port().disarm();
  state_.store(State::kSpin);
}

/// Waits until another thread or the port wakes us, or the time is over. Returns whether it ended before its
/// time.
bool ProgressThread::wait(int port_fd, Duration at_most) {
  std::array<pollfd, 2> descriptors{
      {{.fd = wake_.get(), .events = POLLIN, .revents = 0}, {.fd = port_fd, .events = POLLIN, .revents = 0}}};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (at_most - seconds).count()};
  const long ready = syscall(SYS_ppoll, descriptors.data(), descriptors.size(), &timeout, nullptr, 0);
  if ((descriptors[0].revents & POLLIN) != 0) {
    std::uint64_t kicks = 0;
    syscall(SYS_read, wake_.get(), &kicks, sizeof kicks);
    // A read-modify-write: what a kicker did before it found the flag set is seen after this.
    is_kicked_.exchange(false);
  }
  return ready > 0;
}

}  // namespace urnic::nic
