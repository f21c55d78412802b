// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Complaints: where the models say what a program does wrong.
#pragma once

#include <string>

#include "verbs_api/sanitizer/finding.h"

namespace urnic::verbs_api {

/// Any thread.
class Complaints {
 public:
  virtual ~Complaints() = default;

  /// `object` is a name for people, such as "QP 0x1a2b3c". `describe` returns what happened, one sentence
  /// without a full stop. It is called only if the user is to be told: the first time of each object at
  /// most.
  template <typename Describe>
  void complain(Finding finding, const std::string& object, Describe describe) {
    if (count(finding, object)) tell(finding, object, describe());
  }

 private:
  /// Whether the user is to be told.
  virtual bool count(Finding finding, const std::string& object) = 0;
  virtual void tell(Finding finding, const std::string& object, const std::string& what) = 0;
};

}  // namespace urnic::verbs_api
