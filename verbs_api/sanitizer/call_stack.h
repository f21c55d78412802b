// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CallPath: where in the program a verb was called.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace urnic::verbs_api {

/// Taking one costs microseconds. Without calls it is of something that no call of the program has caused.
class CallPath {
 public:
  /// Of this thread, now.
  static CallPath here();

  bool is_empty() const { return addresses_.empty(); }

  /// A line for each call, the latest first, without those within urnic: function, file and line where the
  /// program has been compiled with -g and addr2line is installed, otherwise what the dynamic linker knows.
  /// Takes some milliseconds, as addr2line runs.
  std::vector<std::string> lines() const;

  friend bool operator<(const CallPath& a, const CallPath& b) { return a.addresses_ < b.addresses_; }

 private:
  std::vector<void*> addresses_;
};

}  // namespace urnic::verbs_api
