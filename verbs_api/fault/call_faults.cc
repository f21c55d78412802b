// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/fault/call_faults.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "verbs_api/fault/event_raising.h"
#include "verbs_api/fault/fault_clock.h"

namespace urnic::verbs_api {
namespace {

using std::chrono::steady_clock;

static_assert(FaultList::kMaxFaults <= 64, "a bit for each event");

/// One throw, whatever the probability is.
bool happens(double probability, std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53 < probability;
}

/// What happens to calls on a device that had a fatal error.
const CallFault& dead_device(Verb verb) {
  static const CallFault of_verbs{.error = EIO};
  static const CallFault of_rdma_cm{.error = ENODEV};
  return is_of_rdma_cm(verb) ? of_rdma_cm : of_verbs;
}

std::string times(std::uint64_t count) {
  return count == 1 ? "once" : fmt::format("{} times", count);
}

std::size_t index_of(Verb verb) {
  return static_cast<std::size_t>(verb);
}

bool is_fatal(const AsyncFault& fault) {
  return fault.event->type == IBV_EVENT_DEVICE_FATAL;
}

bool fits(const CallFault& fault, Verb verb, std::optional<ibv_qp_state> to) {
  return fault.verb == verb && !fault.status && (!fault.to_state || fault.to_state == to);
}

bool fits_completion(const CallFault& fault, bool is_receive) {
  const auto unfit = is_receive ? CallFault::Side::kSend : CallFault::Side::kReceive;
  return fault.status.has_value() && fault.side != unfit;
}

}  // namespace

CallFaults::CallFaults() = default;
CallFaults::~CallFaults() = default;

void CallFaults::use(const FaultList& list) {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  for (const CallFault& fault : list.calls) calls_.push_back({.fault = fault});
  events_.clear();
  for (const AsyncFault& fault : list.events) events_.push_back({.fault = fault});
  random_.seed(list.seed);
  has_any_.store(list.has_any_of_calls(), std::memory_order_release);
}

Result<void, Error> CallFaults::start_clock() {
  const std::lock_guard lock(mutex_);
  if (!has_any() || opened_at_) return success();
  opened_at_ = steady_clock::now();
  const auto needs_clock = [](const EventLine& line) { return line.fault.after || line.fault.lasts; };
  if (std::none_of(events_.begin(), events_.end(), needs_clock)) return success();
  auto started = FaultClock::start([this](const FaultMoment& moment) { raise(moment.event, moment.is_end); });
  if (!started) return failure(started.error());
  clock_ = std::move(started.value());
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (const auto& after = events_[i].fault.after) {
      clock_->add(*opened_at_ + *after, {.event = i, .is_end = false});
    }
  }
  return success();
}

std::vector<std::string> CallFaults::end() {
  std::unique_ptr<FaultClock> clock;
  {
    const std::lock_guard lock(mutex_);
    if (!has_any()) return {};
    clock = std::move(clock_);
  }
  clock.reset();
  const std::lock_guard lock(mutex_);
  has_any_ = false;
  std::vector<std::string> lines;
  for (const CallLine& line : calls_) lines.push_back(describe(line));
  for (const EventLine& line : events_) {
    // Those without text are the adversary's, which the user has not written.
    if (!line.fault.text.empty()) lines.push_back(describe(line));
  }
  return lines;
}

void CallFaults::abandon_in_child() {
  FaultClock::abandon_after_fork(std::move(clock_));
  has_any_ = false;
  is_device_dead_ = false;
  opened_at_.reset();
  calls_.clear();
  events_.clear();
  counts_ = {};
  completions_ = 0;
}

bool CallFaults::concerns(Verb verb) const {
  if (!has_any()) return false;
  const std::lock_guard lock(mutex_);
  const bool may_die = !row_of(verb).works_on_dead_device;
  return std::any_of(calls_.begin(), calls_.end(),
                     [&](const CallLine& line) { return line.fault.verb == verb; }) ||
         std::any_of(events_.begin(), events_.end(), [&](const EventLine& line) {
           return line.fault.call == verb || (may_die && is_fatal(line.fault));
         });
}

bool CallFaults::has_statuses() const {
  if (!has_any()) return false;
  const std::lock_guard lock(mutex_);
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const CallLine& line) { return line.fault.status.has_value(); });
}

const CallFault* CallFaults::strike(Verb verb, std::optional<ibv_qp_state> to) {
  CallListener* const listener = listener_.load(std::memory_order_acquire);
  if (listener != nullptr) [[unlikely]] {
    listener->before(verb);
  }
  if (!has_any()) return nullptr;
  const CallFault* found = nullptr;
  std::uint64_t due = 0;  // bits of events
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t number = ++counts_[index_of(verb)];
    for (CallLine& line : calls_) {
      if (fits(line.fault, verb, to) && hits(line, number) && found == nullptr) found = &line.fault;
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
      EventLine& line = events_[i];
      if (line.fault.call == verb && ++line.calls == line.fault.nth) due |= std::uint64_t{1} << i;
    }
  }
  for (std::size_t i = 0; due >> i != 0; ++i) {
    if ((due >> i & 1u) != 0) raise(i, false);
    if (i == FaultList::kMaxFaults - 1) break;
  }
  if (is_device_dead_.load() && !row_of(verb).works_on_dead_device) return &dead_device(verb);
  return found;
}

std::optional<ibv_wc_status> CallFaults::strike_completion(bool is_receive) {
  std::optional<ibv_wc_status> status;
  const std::lock_guard lock(mutex_);
  ++completions_;
  for (CallLine& line : calls_) {
    if (fits_completion(line.fault, is_receive) && hits(line, completions_) && !status) {
      status = line.fault.status;
    }
  }
  return status;
}

/// Counts a call that fits, and says whether the fault hits it.
bool CallFaults::hits(CallLine& line, std::uint64_t number) {
  ++line.fitting;
  if (line.fitting < line.fault.nth || line.hits == line.fault.times) return false;
  if (line.fault.probability != 1 && !happens(line.fault.probability, random_)) return false;
  if (line.hits++ == 0) line.first_hit = number;
  return true;
}

void CallFaults::raise(std::size_t index, bool is_end) {
  AsyncFault fault;
  {
    const std::lock_guard lock(mutex_);
    fault = events_[index].fault;
    events_[index].is_due = true;
  }
  if (is_end) return end_event(fault);
  std::string failure = raise_event(fault);
  const std::lock_guard lock(mutex_);
  events_[index].failure = std::move(failure);
  if (fault.lasts && clock_ != nullptr) {
    clock_->add(steady_clock::now() + *fault.lasts, {.event = index, .is_end = true});
  }
}

// --- For people ---

std::string CallFaults::describe(const CallLine& line) const {
  const CallFault& fault = line.fault;
  const std::uint64_t count = fault.status ? completions_ : counts_[index_of(fault.verb)];
  std::string seen = fault.status
                         ? fmt::format("the program polled {} completion{}", count, count == 1 ? "" : "s")
                         : fmt::format("{} was called {}", row_of(fault.verb).name, times(count));
  if (line.fitting != count) seen += fmt::format(", and {} of these fit", line.fitting);
  if (line.hits == 0) return fmt::format("fault {} did not fire: {}", fault.text, seen);
  return fmt::format("fault {} fired {}, first at {} {}: {}", fault.text, times(line.hits),
                     fault.status ? "completion" : "call", line.first_hit, seen);
}

std::string CallFaults::describe(const EventLine& line) const {
  const AsyncFault& fault = line.fault;
  if (!line.failure.empty()) return fmt::format("fault {} did not fire: {}", fault.text, line.failure);
  if (line.is_due) return fmt::format("fault {} fired", fault.text);
  if (fault.call) {
    return fmt::format("fault {} did not fire: {} was called {}", fault.text, row_of(*fault.call).name,
                       times(line.calls));
  }
  if (!opened_at_) return fmt::format("fault {} did not fire: the device was not opened", fault.text);
  const auto open_for =
      std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - *opened_at_);
  return fmt::format("fault {} did not fire: the program ended {} ms after it had opened the device",
                     fault.text, open_for.count());
}

int injected_error(Verb verb) {
  const CallFault* const fault = call_faults().strike(verb);
  return fault != nullptr ? fault->error : 0;
}

}  // namespace urnic::verbs_api
