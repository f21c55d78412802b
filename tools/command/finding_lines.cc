// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/finding_lines.h"

#include <fmt/core.h>

#include <cstdio>

#include "tools/conformance/check/report/report.h"

namespace urnic::tools {
namespace {

// What the handler ends: a signal belongs to the whole program.
check::CaptureReader* live_capture = nullptr;

extern "C" void end_capture(int) {
  if (live_capture != nullptr) live_capture->stop();
}

}  // namespace

void FindingLines::show(const check::Checker& checker) {
  const auto& kept = checker.findings().kept();
  if (shown_ == kept.size()) return;
  for (; shown_ < kept.size(); ++shown_) {
    const check::Finding& finding = kept[shown_];
    fmt::print("{:<9}{}", to_string(finding.severity), finding_text(checker.connections(), finding));
  }
  std::fflush(stdout);
}

CaptureEnd::CaptureEnd(check::CaptureReader* live) {
  live_capture = live;
  struct sigaction action {};
  action.sa_handler = end_capture;
  // A pipe is read on; libpcap looks whether it is to end when a signal interrupted it.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | (live == nullptr ? SA_RESTART : 0);
  sigaction(SIGINT, &action, &interrupt_before_);
  sigaction(SIGTERM, &action, &end_before_);
}

CaptureEnd::~CaptureEnd() {
  sigaction(SIGINT, &interrupt_before_, nullptr);
  sigaction(SIGTERM, &end_before_, nullptr);
  live_capture = nullptr;
}

}  // namespace urnic::tools
