// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Results of cases for people, for programs, and for those that show tests (JUnit's XML).
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tools/conformance/conform/results/verdict.h"

namespace urnic::conform {

struct Counts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t habits = 0;
  std::size_t unknown = 0;
};
Counts count(std::span<const CaseResult> results);

/// Lines of one case: verdict and name; and, if it did not pass, why, the rule, its source and what happened.
std::string text_of(const CaseResult& result);
std::string summary_of(const Counts& counts);

nlohmann::json json_of(const std::string& peer, std::span<const CaseResult> results);
/// The same for a file, with a line end. What a peer has said may be no text.
std::string json_text_of(const std::string& peer, std::span<const CaseResult> results);
std::string junit_of(const std::string& peer, std::span<const CaseResult> results);

}  // namespace urnic::conform
