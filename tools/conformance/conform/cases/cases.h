// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The cases: the protocol scripts of tests/scripts, inside of the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace urnic::conform {

struct Case {
  enum class Kind : std::uint8_t { kQueuePair, kConnection };

  std::string_view name;  ///< the file below tests/scripts, without its ending: "rc/nak/unknown"
  std::string_view text;  ///< the script
  Kind kind = Kind::kQueuePair;

  /// The first line of the script: what is verified, and why it must be so.
  std::string_view rule() const;
  std::string_view source() const;
};

/// By name.
std::span<const Case> all_cases();

/// Those whose name one of the patterns fits, or all where there is none. In a pattern, * is any text.
std::vector<Case> cases_of(std::span<const Case> cases, std::span<const std::string> patterns);

}  // namespace urnic::conform
