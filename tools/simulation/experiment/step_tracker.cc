// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/step_tracker.h"

#include <cassert>
#include <functional>

namespace urnic::experiment {

StepTracker::StepTracker(const Workload& workload)
    : workload_(workload),
      states_(workload.steps.size()),
      first_dependent_(workload.steps.size() + 1),
      open_(workload.steps.size()) {
  for (std::size_t step = 0; step < states_.size(); ++step) {
    states_[step].waits_for = workload.steps[step].after.size();
    for (const std::size_t before : workload.steps[step].after) ++first_dependent_[before + 1];
    if (states_[step].waits_for == 0) {
      events_.push({.time = workload.jobs[workload.steps[step].job].start, .step = step});
    }
  }
  for (std::size_t step = 0; step < states_.size(); ++step) {
    first_dependent_[step + 1] += first_dependent_[step];
  }
  dependents_.resize(first_dependent_.back());
  std::vector<std::size_t> next(first_dependent_.begin(), first_dependent_.end() - 1);
  for (std::size_t step = 0; step < states_.size(); ++step) {
    for (const std::size_t before : workload.steps[step].after) dependents_[next[before]++] = step;
  }
}

std::optional<Duration> StepTracker::next_time() const {
  return events_.empty() ? std::nullopt : std::optional(events_.top().time);
}

std::optional<std::size_t> StepTracker::next_due(Duration now) {
  while (!events_.empty() && events_.top().time <= now) {
    const Event event = events_.top();
    events_.pop();
    const Step& step = workload_.steps[event.step];
    if (event.is_end) {
      complete(event.step, now);
      continue;
    }
    states_[event.step].begun = now;
    if (step.operation != Operation::kCompute) return event.step;
    events_.push({.time = now + step.duration, .step = event.step, .is_end = true});
  }
  return std::nullopt;
}

void StepTracker::complete(std::size_t step, Duration now) {
  assert(states_[step].completed == Duration(-1));
  states_[step].completed = now;
  --open_;
  free_dependents(step, workload_.steps[step].host, now);
}

void StepTracker::arrive(std::size_t step, Duration now) {
  free_dependents(step, workload_.steps[step].peer, now);
}

void StepTracker::free_dependents(std::size_t step, HostId who, Duration now) {
  for (std::size_t i = first_dependent_[step]; i < first_dependent_[step + 1]; ++i) {
    const std::size_t dependent = dependents_[i];
    if (workload_.steps[dependent].host != who) continue;
    if (--states_[dependent].waits_for == 0) events_.push({.time = now, .step = dependent});
  }
}

std::optional<Duration> StepTracker::begun(std::size_t step) const {
  const Duration time = states_[step].begun;
  return time < Duration{} ? std::nullopt : std::optional(time);
}

std::optional<Duration> StepTracker::completed(std::size_t step) const {
  const Duration time = states_[step].completed;
  return time < Duration{} ? std::nullopt : std::optional(time);
}

}  // namespace urnic::experiment
