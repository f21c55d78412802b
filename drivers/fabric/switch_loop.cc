// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/switch_loop.h"

#include <fmt/core.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

#include "nic/engine/short_turns.h"

namespace urnic::drivers {
namespace {

using Clock = Switch::Clock;

/// How long the loop looks for frames before it sleeps, where there is a core for it.
constexpr auto kSpin = std::chrono::microseconds(50);
/// A yield that took so long has let another thread run: most likely one that waits for frames and will spin
/// until its turn is over. To sleep is better then, because a thread that wakes need not wait for that.
constexpr auto kLongYield = std::chrono::microseconds(100);
/// For so long we then believe that there is no core to spin on.
constexpr auto kCrowdedTime = std::chrono::milliseconds(100);
/// While frames wait for room.
constexpr auto kPause = std::chrono::microseconds(20);
/// How long the loop sleeps when something may happen that no descriptor tells.
constexpr auto kPollPause = std::chrono::milliseconds(1);

/// Has the kernel wake the calling thread when it is to, and not some 50 us later so that it can wake others
/// with it.
void ask_for_exact_timers() {
  prctl(PR_SET_TIMERSLACK, 1);
}

timespec to_timespec(Clock::duration duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(duration - seconds).count()};
}

}  // namespace

Result<std::unique_ptr<SwitchLoop>, Error> SwitchLoop::create(std::unique_ptr<Switch> it) {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) {
    const int code = errno;
    return Error{.code = code,
                 .message = fmt::format("cannot make the switch's descriptor: {}",
                                        std::generic_category().message(code))};
  }
  return std::unique_ptr<SwitchLoop>(new SwitchLoop(std::move(it), std::move(event)));
}

SwitchLoop::SwitchLoop(std::unique_ptr<Switch> it, Descriptor event)
    : switch_(std::move(it)),
      event_(std::move(event)),
      wake_sources_{{.fd = event_.get(), .events = POLLIN, .revents = 0}} {}

void SwitchLoop::wake() const {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the descriptor is readable anyway.
  [[maybe_unused]] const auto written = write(event_.get(), &one, sizeof(one));
}

void SwitchLoop::stop() {
  stopped_ = true;
  wake();
}

void SwitchLoop::run() {
  nic::ask_for_short_turns();
  ask_for_exact_timers();
  Clock::time_point last_frame = Clock::now();
  Clock::time_point crowded_until = last_frame;
  while (!stopped_.load(std::memory_order_relaxed)) {
    if (question_.load(std::memory_order_acquire) != nullptr) answer();
    const Clock::time_point now = Clock::now();
    const Switch::Round round = switch_->run_round(now);
    if (round.frames > 0) {
      last_frame = now;
    } else if (round.is_waiting) {
      std::this_thread::sleep_for(kPause);
    } else if (now < crowded_until || now - last_frame > kSpin) {
      sleep_until(round.next);
    } else {
      std::this_thread::yield();
      if (Clock::now() - now > kLongYield) crowded_until = now + kCrowdedTime;
    }
  }
}

void SwitchLoop::sleep_until(Clock::time_point next) {
  if (switch_->arm()) return;
  const Clock::time_point now = Clock::now();
  const bool will_be_woken = all_ports_wake_ && switch_->is_drained();
  if (!will_be_woken) next = std::min(next, now + kPollPause);
  const timespec patience = to_timespec(std::max(next - now, Clock::duration::zero()));
  ppoll(wake_sources_.data(), wake_sources_.size(), next == Clock::time_point::max() ? nullptr : &patience,
        nullptr);
  if (wake_sources_.front().revents != 0) {
    std::uint64_t number = 0;
    [[maybe_unused]] const auto bytes = read(event_.get(), &number, sizeof(number));
  }
  for (std::size_t i = 1; i < wake_sources_.size(); ++i) {
    if (wake_sources_[i].revents != 0) switch_->disarm(woken_ports_[i - 1]);
  }
}

void SwitchLoop::ask(const std::function<void(Switch&)>& question) {
  const std::lock_guard one_at_a_time(asking_);
  std::unique_lock lock(mutex_);
  question_.store(&question, std::memory_order_release);
  wake();
  answered_.wait(lock, [this] { return question_.load(std::memory_order_relaxed) == nullptr; });
}

void SwitchLoop::answer() {
  const std::lock_guard lock(mutex_);
  (*question_.load(std::memory_order_relaxed))(*switch_);
  question_.store(nullptr, std::memory_order_relaxed);
  answered_.notify_all();
}

Switch::PortNumber SwitchLoop::add(std::unique_ptr<nic::PacketPort> port) {
  Switch::PortNumber number = 0;
  ask([&](Switch& it) {
    const int wake_fd = port->wake_fd();
    number = it.add(std::move(port));
    if (wake_fd < 0) {
      all_ports_wake_ = false;
      return;
    }
    wake_sources_.push_back({.fd = wake_fd, .events = POLLIN, .revents = 0});
    woken_ports_.push_back(number);
  });
  return number;
}

}  // namespace urnic::drivers
