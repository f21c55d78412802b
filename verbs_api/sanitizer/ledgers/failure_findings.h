// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FailureFindings: what the failures of a device say of the program's mistakes.
#pragma once

#include <string>

#include "nic/diagnostics/failure_cause.h"
#include "nic/diagnostics/failure_report.h"
#include "nic/diagnostics/report_printer.h"
#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/device_ledger.h"

namespace urnic::verbs_api {

/// On the thread that prints failures.
class FailureFindings final : public nic::FailureListener {
 public:
  /// Both outlive it.
  FailureFindings(DeviceLedger& device, Complaints& complaints) : device_(device), complaints_(complaints) {}

  void on_failure(const nic::FailureReport& report) override;
  void on_tick() override;

 private:
  void check(const nic::FailureReport& report, nic::FailureCause cause, const std::string& name);
  void check_memory(const nic::FailureReport& report, const std::string& name);
  void check_depth(const nic::FailureReport& report, const std::string& name);
  void check_key(const nic::FailureReport& report, bool is_of_earlier, const std::string& name);
  void check_remote_key(const nic::FailureReport& report, const std::string& name);
  void check_address(const nic::FailureReport& report, const std::string& name);

  DeviceLedger& device_;
  Complaints& complaints_;
};

}  // namespace urnic::verbs_api
