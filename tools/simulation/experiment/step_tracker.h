// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// StepTracker: which steps of a workload may begin, and when each began and ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "tools/simulation/experiment/workload.h"

namespace urnic::experiment {

/// Times are since the start of the experiment, and never go back from one call to the next.
class StepTracker {
 public:
  /// The workload outlives it.
  explicit StepTracker(const Workload& workload);

  /// When next_due() has something next; nothing: not before a step is over.
  std::optional<Duration> next_time() const;
  /// A step that sends something and begins now; ask until there is none. Computations begin and end by
  /// themselves.
  std::optional<std::size_t> next_due(Duration now);

  /// The host that posted it knows that it is over.
  void complete(std::size_t step, Duration now);
  /// The other side knows.
  void arrive(std::size_t step, Duration now);

  bool is_over() const { return open_ == 0; }
  /// Steps that are not over.
  std::size_t open() const { return open_; }
  std::optional<Duration> begun(std::size_t step) const;
  std::optional<Duration> completed(std::size_t step) const;

 private:
  struct Event {
    Duration time{};
    std::size_t step = 0;
    bool is_end = false;  // of a computation

    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : step > other.step;
    }
  };
  struct State {
    std::size_t waits_for = 0;
    Duration begun{-1};
    Duration completed{-1};
  };

  void free_dependents(std::size_t step, HostId who, Duration now);

  const Workload& workload_;
  std::vector<State> states_;
  std::vector<std::size_t> dependents_;       // of all steps, one step's beside each other
  std::vector<std::size_t> first_dependent_;  // by step; one more at the end
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::size_t open_;
};

}  // namespace urnic::experiment
