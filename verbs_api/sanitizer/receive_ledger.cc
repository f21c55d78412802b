// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/receive_ledger.h"

#include <fmt/core.h>

namespace urnic::verbs_api {

void ReceiveLedger::posted(std::uint64_t wr_id) {
  if (outstanding_ >= room_.granted) {
    return complaints_.complain(Finding::kReceiveQueueNeverDrained, name_, [&] {
      return fmt::format(
          "receive wr_id {} has no room on most hardware: the program has polled no completion of the {} "
          "receives that hold all slots",
          wr_id, outstanding_);
    });
  }
  ++outstanding_;
  if (outstanding_ <= room_.requested) return;
  complaints_.complain(Finding::kRoomNotRequested, name_, [&] {
    return fmt::format("{} receives are outstanding with this one, and max_recv_wr was {}", outstanding_,
                       room_.requested);
  });
}

}  // namespace urnic::verbs_api
