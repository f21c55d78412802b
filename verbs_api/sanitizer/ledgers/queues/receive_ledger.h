// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ReceiveLedger: how many receives of a queue a program still has to wait for, as hardware counts.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "transport/work_request.h"
#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/queues/send_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/target_ledger.h"

namespace urnic::verbs_api {

/// Each receive has a completion, and hardware takes its slot back when that is polled. The owner guards it.
class ReceiveLedger {
 public:
  /// `beyond` is what more than the requested room is called.
  ReceiveLedger(const std::string& name, QueueRoom room, Complaints& complaints,
                Finding beyond = Finding::kRoomNotRequested)
      : name_(name), room_(room), complaints_(complaints), beyond_(beyond) {}

  /// The device has taken one. Receives with elements complete in their order.
  void posted(std::uint64_t wr_id, std::span<const transport::Sge> elements = {});
  void polled();
  void clear();
  void resized(QueueRoom room) { room_ = room; }
  /// No more than that are outstanding after all.
  void limit(std::uint32_t outstanding);

  std::uint32_t outstanding() const { return outstanding_; }

 private:
  void check_targets(std::uint64_t wr_id, std::span<const transport::Sge> elements);

  const std::string& name_;
  QueueRoom room_;
  Complaints& complaints_;
  Finding beyond_;
  std::uint32_t outstanding_ = 0;
  std::deque<std::vector<transport::Sge>> elements_;  // of those that have some, the oldest first
  TargetLedger targets_;
};

}  // namespace urnic::verbs_api
