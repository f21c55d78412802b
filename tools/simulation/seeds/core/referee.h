// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Referee: takes the oracles' complaints and stops the world at the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tools/simulation/kernel/clock.h"

namespace urnic::sim {

/// Something that a correct NIC would not have done.
struct Failure {
  std::string oracle;  ///< who complains: "memory", "completions", "wire", "liveness", "determinism", ...
  std::string what;    ///< what was expected and seen
  transport::Time time{};
};

class Referee {
 public:
  explicit Referee(const kernel::Clock& clock) : clock_(clock) {}

  void complain(std::string_view oracle, std::string what) {
    if (!failure_) failure_ = Failure{std::string(oracle), std::move(what), clock_.now()};
  }
  void complain_if(std::string_view oracle, std::optional<std::string> complaint, std::string_view where) {
    if (complaint) complain(oracle, std::string(where) + ": " + *complaint);
  }
  const std::optional<Failure>& failure() const { return failure_; }

  /// Something happened that an application is waiting for.
  void note_progress() { last_progress_ = clock_.now(); }
  transport::Time last_progress() const { return last_progress_; }

 private:
  const kernel::Clock& clock_;
  std::optional<Failure> failure_;
  transport::Time last_progress_{};
};

}  // namespace urnic::sim
