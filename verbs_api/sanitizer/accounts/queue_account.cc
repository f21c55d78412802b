// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/accounts/queue_account.h"

#include <fmt/core.h>

namespace urnic::verbs_api {

void QueueAccount::complain(std::uint64_t wr_id) {
  const std::uint32_t outstanding = posted_ - freed_;
  if (outstanding >= room_.granted) {
    limit_ = kNoLimit;
    return complaints_.complain(full_, name_, [&] {
      return fmt::format(
          "the post of wr_id {} has no room on most hardware: {} requests before it hold all {} slots of the "
          "queue, as the program has polled no completion of these or of later ones",
          wr_id, outstanding, room_.granted);
    });
  }
  limit_ = room_.granted;
  complaints_.complain(Finding::kRoomNotRequested, name_, [&] {
    return fmt::format("{} requests are outstanding with wr_id {}, and {} were requested", outstanding + 1,
                       wr_id, room_.requested);
  });
}

void QueueAccount::clear() {
  posted_ = 0;
  freed_ = 0;
}

}  // namespace urnic::verbs_api
