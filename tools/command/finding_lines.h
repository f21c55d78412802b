// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Shows what `urnic check` finds in live traffic as it is found, and lets the user end that.
#pragma once

#include <csignal>
#include <cstddef>

#include "tools/conformance/check/capture_reader.h"
#include "tools/conformance/check/checker.h"

namespace urnic::tools {

/// Prints findings that are new, one line each.
class FindingLines {
 public:
  void show(const check::Checker& checker);

 private:
  std::size_t shown_ = 0;
};

/// While it lives, the first SIGINT or SIGTERM ends the capture, so that the report follows, and the second
/// one the program. What comes through a pipe ends when its writer does, whom the terminal signals as well.
class CaptureEnd {
 public:
  /// `live` is null for a pipe.
  explicit CaptureEnd(check::CaptureReader* live);
  CaptureEnd(const CaptureEnd&) = delete;
  CaptureEnd& operator=(const CaptureEnd&) = delete;
  ~CaptureEnd();

 private:
  struct sigaction interrupt_before_ {};
  struct sigaction end_before_ {};
};

}  // namespace urnic::tools
