// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/lock_step.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <string>
#include <system_error>

#include "nic/engine/engine.h"
#include "nic/process/may_wait.h"
#include "nic/process/own_thread.h"
#include "nic/process/sleeping_threads.h"

namespace urnic::nic {

using transport::Duration;
using transport::Time;
using namespace std::chrono_literals;

namespace {

/// How often the thread looks what the program does.
constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 500'000};
/// A program that sleeps at so many looks in a row, and calls no verb, waits for something.
constexpr int kSleepingLooks = 2;
/// One that has used so much processor time without a call watches its memory. Long enough for work that
/// programs do between two calls.
constexpr Duration kWatchesMemory = 20ms;
/// How many steps may pass until the thread looks again whether the program still sleeps, where none of them
/// did anything that might wake it.
constexpr int kStepsPerLook = 16;

Duration processor_time(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// Of all threads but the calling one.
Duration processor_time_of_others() {
  return processor_time(CLOCK_PROCESS_CPUTIME_ID) - processor_time(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace

Result<void, Error> LockStep::start() {
  wake_ = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_) {
    return failure(
        Error{.code = errno, .message = std::string("cannot make an eventfd: ") + std::strerror(errno)});
  }
  try {
    thread_ = start_own_thread("urnic", [this] { run(); });
  } catch (const std::system_error& error) {
    return failure(Error{.code = error.code().value(),
                         .message = std::string("cannot start the NIC's thread: ") + error.what()});
  }
  return success();
}

void LockStep::stop() {
  if (!thread_.joinable()) return;
  assert_may_wait();
  is_stopping_.store(true);
  const std::uint64_t one = 1;
  syscall(SYS_write, wake_.get(), &one, sizeof one);
  thread_.join();
}

// --- The program's threads ---

// A round that has done something may have made what the program waits for; its next poll finds it. So may
// one that another thread runs just now.
void LockStep::on_poll() {
  note_call();
  const bool had_rung = engine_.pipeline().has_rung();
  const Pipeline::Round round = engine_.try_round();
  const bool is_quiet = !round.worked && !had_rung && round.began != Time{};
  if (is_quiet) step();
}

void LockStep::step() {
  waiting_.fetch_add(1);
  time_.step(next_due());
  engine_.try_round();
  waiting_.fetch_sub(1);
  tell_of_loss();
}

Time LockStep::next_due() {
  const std::unique_lock lock = engine_.hold();
  return engine_.pipeline().next_deadline(engine_.clock().now());
}

void LockStep::tell_of_loss() {
  if (!time_.is_lost() || has_told_.exchange(true)) return;
  if (!engine_.events().on_link_lost()) has_told_.store(false);
}

// --- The thread ---

void LockStep::run() {
  used_then_ = processor_time_of_others();
  while (!is_stopping_.load()) {
    wait();
    while (!is_stopping_.load() && is_program_away()) go_on();
  }
}

bool LockStep::is_program_away() {
  const std::uint64_t calls = calls_.load(std::memory_order_relaxed);
  if (calls != calls_seen_ || waiting_.load() > 0) {
    calls_seen_ = calls;
    used_then_ = processor_time_of_others();
    sleeping_looks_ = 0;
    steps_until_look_ = 0;
    return false;
  }
  if (steps_until_look_ > 0) return true;
  sleeping_looks_ = do_other_threads_sleep() ? sleeping_looks_ + 1 : 0;
  return sleeping_looks_ >= kSleepingLooks || processor_time_of_others() - used_then_ >= kWatchesMemory;
}

/// A thread that an event wakes waits for a processor from that moment on, and so does not sleep at the next
/// look.
void LockStep::go_on() {
  --steps_until_look_;
  bool worked = engine_.try_round().worked;
  if (!worked && time_.follow(next_due())) worked = engine_.try_round().worked;
  tell_of_loss();
  if (worked) {
    steps_until_look_ = 0;
  } else if (steps_until_look_ < 0) {
    steps_until_look_ = kStepsPerLook;
  }
}

void LockStep::wait() const {
  pollfd descriptor{.fd = wake_.get(), .events = POLLIN, .revents = 0};
  syscall(SYS_ppoll, &descriptor, 1L, &kLook, nullptr, 0);
}

}  // namespace urnic::nic
