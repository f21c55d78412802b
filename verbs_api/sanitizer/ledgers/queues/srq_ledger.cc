// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/srq_ledger.h"

namespace urnic::verbs_api {

void SrqLedger::on_receive(const transport::ReceiveRequest& request, std::span<const transport::Sge> elements,
                           nic::PostStatus status) {
  if (status != nic::PostStatus::kPosted) return;
  memory_.check({.name = facts_.name, .domain = facts_.domain, .wr_id = request.wr_id, .is_written = true},
                elements);
  const std::lock_guard lock(mutex_);
  receives_.posted(request.wr_id);
}

void SrqLedger::polled() {
  const std::lock_guard lock(mutex_);
  receives_.polled();
}

void SrqLedger::resized(QueueRoom room) {
  const std::lock_guard lock(mutex_);
  receives_.resized(room);
}

void SrqLedger::limit(std::uint32_t outstanding) {
  const std::lock_guard lock(mutex_);
  receives_.limit(outstanding);
}

}  // namespace urnic::verbs_api
