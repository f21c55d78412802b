// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Trials of `urnic chaos`: a program is run against an adversary, and may fail.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "nic/adversary/settings.h"
#include "transport/result.h"

namespace urnic::tools {

/// How a program ended.
struct TrialEnd {
  enum class Kind : std::uint8_t { kExit, kSignal, kHang };

  Kind kind = Kind::kExit;
  int number = 0;  ///< the exit code, or the signal
  std::chrono::milliseconds time{};

  bool is_like(const TrialEnd& other) const { return kind == other.kind && number == other.number; }
};

/// "ends with exit code 1", "is killed by signal 11 (Segmentation fault)", "hangs".
std::string describe(const TrialEnd& end);

/// Runs the program as `urnic run` does, each time in a process group of its own, which ends with it.
class Trials {
 public:
  /// `folder` exists, and is for this.
  Trials(std::vector<std::string> program, std::string folder)
      : program_(std::move(program)), folder_(std::move(folder)) {}

  /// `spec` is for --chaos; empty: without. What still runs after `limit` is killed.
  Result<TrialEnd, Error> run(const std::string& spec, std::chrono::milliseconds limit);

  /// What the last one has printed, its last lines.
  std::vector<std::string> last_output(std::size_t most) const;
  /// What the adversaries of its processes have done last.
  std::vector<std::string> last_acts(std::size_t most) const;

 private:
  std::string output_file() const { return folder_ + "/output"; }
  void remove_logs() const;

  std::vector<std::string> program_;
  std::string folder_;
};

/// "late-payload+slow-read".
std::string names_of(const nic::Behaviors& behaviors);

/// The smallest set that was found of `all` with which the program still fails, where `fails` says whether it
/// does. `all` itself is known to fail.
template <typename Fails>
nic::Behaviors narrow(const nic::Behaviors& all, Fails fails) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.test(i)) left.push_back(i);
  }
  const auto set_of = [](const std::vector<std::size_t>& members) {
    nic::Behaviors set;
    for (const std::size_t member : members) set.set(member);
    return set;
  };
  // Parts are left out, halves first and single ones at last.
  for (std::size_t part = (left.size() + 1) / 2; part > 0 && left.size() > 1;) {
    bool has_shrunk = false;
    for (std::size_t at = 0; at < left.size() && left.size() > 1;) {
      std::vector<std::size_t> rest = left;
      const std::size_t end = std::min(at + part, left.size());
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at),
                 rest.begin() + static_cast<std::ptrdiff_t>(end));
      if (!rest.empty() && fails(set_of(rest))) {
        left = std::move(rest);
        has_shrunk = true;
      } else {
        at += part;
      }
    }
    if (part == 1 && !has_shrunk) break;
    part = part == 1 ? 1 : std::min((part + 1) / 2, (left.size() + 1) / 2);
  }
  return set_of(left);
}

}  // namespace urnic::tools
