// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ReceiveLedger: how many receives of a queue pair a program still has to wait for, as hardware counts.
#pragma once

#include <cstdint>
#include <string>

#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/send_ledger.h"

namespace urnic::verbs_api {

/// Each receive has a completion, and hardware takes its slot back when that is polled. The owner guards it.
class ReceiveLedger {
 public:
  ReceiveLedger(const std::string& name, QueueRoom room, Complaints& complaints)
      : name_(name), room_(room), complaints_(complaints) {}

  /// The device has taken one.
  void posted(std::uint64_t wr_id);
  void polled() { outstanding_ -= outstanding_ != 0 ? 1 : 0; }
  void clear() { outstanding_ = 0; }

  std::uint32_t outstanding() const { return outstanding_; }

 private:
  const std::string& name_;
  QueueRoom room_;
  Complaints& complaints_;
  std::uint32_t outstanding_ = 0;
};

}  // namespace urnic::verbs_api
