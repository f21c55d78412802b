// What the facts of a host mean for a user of urnic there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/inspection/doctor/host_facts.h"
#include "tools/inspection/doctor/path_probe.h"

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

/// In the order in which a user meets them.
std::vector<Finding> judge(const HostFacts& facts);
/// Of the way to a peer.
Finding judge(const PathFacts& facts);

}  // namespace urnic::tools
