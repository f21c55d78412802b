// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SanitizerSettings: what the user wants of the sanitizer.
#pragma once

#include <bitset>
#include <string>
#include <string_view>

#include "transport/result.h"
#include "verbs_api/sanitizer/finding.h"
#include "verbs_api/sanitizer/suppressions.h"

namespace urnic::verbs_api {

/// Written as words with commas between, each optional:
///
///   level=error|warning|hint   the least that is told    default: warning
///   exitcode=N                 with which a program ends that ends well but had errors, 0 to 255;
///                              default: 1, as with AddressSanitizer
///   off=NAME+NAME...           findings that are not told
///   stacks=0|1                 whether calls are named with their functions and lines    default: 1
///   suppressions=FILE          findings that are not told where certain calls lead to them
///   json=FILE                  where the table goes at the end, too; %p stands for the process's number
struct SanitizerSettings {
  FindingLevel level = FindingLevel::kWarning;
  int exit_code = 1;
  std::bitset<kFindingCount> off{};
  bool has_stacks = true;
  Suppressions suppressions{};
  std::string json_file{};

  bool wants(Finding finding) const;

  /// Of --explain: findings that cost nothing to look for, with no table at the end.
  static SanitizerSettings for_accounts();
  /// "1" stands for the defaults. The error says in one line what is wrong.
  static Result<SanitizerSettings, Error> parse(std::string_view text);
};

}  // namespace urnic::verbs_api
