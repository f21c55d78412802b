// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The result of a case.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/conformance/conform/cases/cases.h"
#include "tools/conformance/player/runner.h"

namespace urnic::conform {

enum class Verdict : std::uint8_t {
  kPass,
  kFail,
  kHabit,    ///< it failed as NICs of a known kind do, which peers live with
  kUnknown,  ///< the agent, its NIC or the link cannot do what the case wants
};

constexpr std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kHabit:
      return "HABIT";
    case Verdict::kUnknown:
      return "UNKNOWN";
  }
  return "";
}

struct CaseResult {
  Case of;
  Verdict verdict = Verdict::kUnknown;
  unsigned line = 0;         ///< of the script, where it failed; 0: at its end, or not at a line
  std::string statement;     ///< that line
  std::string reason;        ///< for all but PASS
  std::string habit_of;      ///< whose habit it is
  std::string habit_source;  ///< from where that is known
  std::vector<scripts::Failure> not_judged;  ///< lines that say what no agent can tell
  std::vector<scripts::Failure> excused;     ///< lines at which a habit was seen, and the case went on
  std::vector<std::string> ladder;
  std::chrono::nanoseconds took{0};
  std::string capture;  ///< the file with the packets of a case that failed; empty: none
};

/// Excuses what known NICs do and what leaves the rest of a case to be judged.
scripts::Excuse excuse_for(const Case& played);

/// From the outcome of playing it with excuse_for().
CaseResult judge(const Case& played, const scripts::Script& script, scripts::Outcome outcome);

/// A case that passed fails, or shows a habit: a packet breaks a rule that its script says nothing about.
void fail_by_rule(CaseResult& result, std::string reason);

}  // namespace urnic::conform
