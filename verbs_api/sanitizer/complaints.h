// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Complaints: where the models say what a program does wrong.
#pragma once

#include <string>

#include "verbs_api/sanitizer/finding.h"

namespace urnic::verbs_api {

class CallPath;

/// Any thread.
class Complaints {
 public:
  virtual ~Complaints() = default;

  /// Whether the user wants to know: what costs much need not be looked for otherwise.
  virtual bool wants(Finding) const { return true; }

  /// `object` is a name for people, such as "QP 0x1a2b3c". `describe` returns what happened, one sentence
  /// without a full stop. It is called only if the user is to be told: the first time of each object at
  /// most. The calls of this thread have led there.
  template <typename Describe>
  void complain(Finding finding, const std::string& object, Describe describe) {
    if (count(finding, object, nullptr)) tell(finding, object, describe(), nullptr);
  }

  /// The same for what is noticed later, or by another thread: `calls` have led there. None: the peer has.
  template <typename Describe>
  void complain_of(const CallPath& calls, Finding finding, const std::string& object, Describe describe) {
    if (count(finding, object, &calls)) tell(finding, object, describe(), &calls);
  }

 private:
  /// Whether the user is to be told. Without `calls` it is this thread's calls.
  virtual bool count(Finding finding, const std::string& object, const CallPath* calls) = 0;
  virtual void tell(Finding finding, const std::string& object, const std::string& what,
                    const CallPath* calls) = 0;
};

}  // namespace urnic::verbs_api
