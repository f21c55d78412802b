// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Finding: one line of `urnic doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace urnic::tools {

enum class Verdict : std::uint8_t {
  kGood,
  kNote,     ///< urnic works; something may be slower, or other than expected
  kProblem,  ///< programs cannot use urnic, or not as it is by default
};

/// "ok", "note", "problem"; "" for what is no verdict.
std::string_view name_of(Verdict verdict);

/// One line of the report. Sentences have no full stop at the end.
struct Finding {
  std::string check;  ///< "memory"; the same for the same check in every version
  Verdict verdict = Verdict::kGood;
  std::string found;
  std::string remedy;  ///< what it means and what to do; empty where there is nothing to do

  friend bool operator==(const Finding&, const Finding&) = default;
};

Finding good(std::string check, std::string found);
Finding note(std::string check, std::string found, std::string remedy);
Finding problem(std::string check, std::string found, std::string remedy);

}  // namespace urnic::tools
