// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What each finding looks like in a program, and what it should look like.
#pragma once

#include <string_view>

#include "verbs_api/sanitizer/finding.h"

namespace urnic::verbs_api {

/// Some lines of C each.
struct Example {
  std::string_view wrong;
  std::string_view right;
};

Example example_of(Finding finding);

}  // namespace urnic::verbs_api
