// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/list_ledger.h"

#include <fmt/core.h>

namespace urnic::verbs_api {

void ListLedger::begins(const PostedList& list) {
  const bool is_again =
      partial_ && partial_->list.first == list.first && partial_->list.content == list.content;
  if (is_again) {
    complaints_.complain(Finding::kAcceptedRequestsPostedAgain, name_, [&] {
      return fmt::format("{} requests of this list were accepted when it was posted before, up to *bad_wr",
                         partial_->taken);
    });
  }
  partial_.reset();
}

void ListLedger::refused(const PostedList& list, std::size_t taken) {
  if (taken != 0) partial_ = Partial{.list = list, .taken = taken};
}

}  // namespace urnic::verbs_api
