// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/receive_ledger.h"

#include <fmt/core.h>

#include <algorithm>

namespace urnic::verbs_api {

using transport::Sge;

void ReceiveLedger::posted(std::uint64_t wr_id, std::span<const Sge> elements) {
  if (outstanding_ >= room_.granted) {
    return complaints_.complain(Finding::kReceiveQueueNeverDrained, name_, [&] {
      return fmt::format(
          "receive wr_id {} has no room on most hardware: the program has polled no completion of the {} "
          "receives that hold all slots",
          wr_id, outstanding_);
    });
  }
  ++outstanding_;
  if (!elements.empty()) check_targets(wr_id, elements);
  if (outstanding_ <= room_.requested) return;
  complaints_.complain(beyond_, name_, [&] {
    return fmt::format("{} receives are outstanding with this one, and {} were requested", outstanding_,
                       room_.requested);
  });
}

void ReceiveLedger::check_targets(std::uint64_t wr_id, std::span<const Sge> elements) {
  elements_.emplace_back(elements.begin(), elements.end());
  const auto address = targets_.add(elements);
  if (!address) return;
  complaints_.complain(Finding::kOverlappingTargets, name_, [&] {
    return fmt::format("receive wr_id {} and an outstanding one before it share memory at {:#x}", wr_id,
                       *address);
  });
}

void ReceiveLedger::polled() {
  if (outstanding_ == 0) return;
  --outstanding_;
  if (elements_.empty()) return;
  targets_.remove(elements_.front());
  elements_.pop_front();
}

void ReceiveLedger::clear() {
  outstanding_ = 0;
  elements_.clear();
  targets_.clear();
}

void ReceiveLedger::limit(std::uint32_t outstanding) {
  outstanding_ = std::min(outstanding_, outstanding);
}

}  // namespace urnic::verbs_api
