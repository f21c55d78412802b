// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/failure_log.h"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace urnic::nic {

using transport::Time;
using transport::wire::Gid;

FailureLog::FailureLog() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), reports_(kMost) {}

void FailureLog::add(FailureReport report) {
  {
    const std::lock_guard lock(mutex_);
    if (count_ == kMost) {
      ++left_out_;
      return;
    }
    report.other_failures = std::exchange(left_out_, 0);
    reports_[(first_ + count_++) % kMost] = report;
  }
  const std::uint64_t one = 1;
  syscall(SYS_write, fd(), &one, sizeof one);
}

void FailureLog::add_stray(transport::QpNumber to, const Gid& from, Time now) {
  FailureReport report{.kind = FailureReport::Kind::kStray, .at = now};
  report.qp.number = to;
  report.qp.peer = from;
  add_unwanted(report);
}

void FailureLog::add_translated(transport::QpNumber to, const Gid& peer, const Gid& seen_as, Time now) {
  FailureReport report{.kind = FailureReport::Kind::kTranslated, .at = now, .seen_as = seen_as};
  report.qp.number = to;
  report.qp.peer = peer;
  add_unwanted(report);
}

void FailureLog::add_otherwise_encapsulated(transport::QpNumber to, const Gid& peer,
                                            transport::wire::Encapsulation came_as, Time now) {
  FailureReport report{.kind = FailureReport::Kind::kOtherEncapsulation, .at = now, .came_as = came_as};
  report.qp.number = to;
  report.qp.peer = peer;
  add_unwanted(report);
}

void FailureLog::add_unwanted(const FailureReport& report) {
  if (last_unwanted_ && report.at - *last_unwanted_ < std::chrono::seconds(1)) return;
  last_unwanted_ = report.at;
  add(report);
}

std::optional<FailureReport> FailureLog::take() {
  const std::lock_guard lock(mutex_);
  if (count_ == 0) {
    std::uint64_t ignored = 0;
    syscall(SYS_read, fd(), &ignored, sizeof ignored);
    return std::nullopt;
  }
  FailureReport report = reports_[first_];
  first_ = (first_ + 1) % kMost;
  --count_;
  return report;
}

}  // namespace urnic::nic
