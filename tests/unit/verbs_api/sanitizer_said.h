// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Keeps what the sanitizer's models say, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "verbs_api/sanitizer/call_stack.h"
#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

class Said final : public Complaints {
 public:
  /// What was said so far, each time; says nothing of it again.
  std::vector<Finding> take() { return std::exchange(findings_, {}); }
  std::string text;

 private:
  bool count(Finding finding, const std::string&, const CallPath*) override {
    findings_.push_back(finding);
    return true;
  }
  void tell(Finding, const std::string&, const std::string& what, const CallPath*) override { text = what; }

  std::vector<Finding> findings_;
};

inline const std::vector<Finding> kNothing;

}  // namespace urnic::verbs_api
