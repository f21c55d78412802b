// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Suppressions: findings that the user does not want to see where certain calls lead to them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/result.h"
#include "verbs_api/sanitizer/finding.h"

namespace urnic::verbs_api {

/// Written as AddressSanitizer's are, in lines: the name of a finding, a colon, and a pattern that is looked
/// for in each line of the calls ("post_reply at server.c:31"), in which * stands for anything. The pattern *
/// fits without calls, too. Empty lines and those that begin with # are for people.
class Suppressions {
 public:
  /// The errors say in one line what is wrong.
  static Result<Suppressions, Error> parse(std::string_view text);
  static Result<Suppressions, Error> read(const std::string& file);

  bool has_any_of(Finding finding) const;
  /// `calls` as CallPath::lines().
  bool covers(Finding finding, std::span<const std::string> calls) const;

 private:
  struct Line {
    Finding finding;
    std::string pattern;
  };

  std::vector<Line> lines_;
};

}  // namespace urnic::verbs_api
