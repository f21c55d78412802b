// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QueueAccount: how many slots of a queue hardware would still hold, by numbers alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/queues/send_ledger.h"

namespace urnic::verbs_api {

/// Counts posts, and is told how many slots are free again only when these seem to be too many. Complains of
/// each mistake once. The owner guards it.
class QueueAccount {
 public:
  /// `full` is what a post without room is called. `name` and `complaints` outlive it.
  QueueAccount(const std::string& name, QueueRoom room, Finding full, Complaints& complaints)
      : name_(name), room_(room), limit_(room.requested), full_(full), complaints_(complaints) {}

  /// One more was posted. `freed` says how many of all slots that were ever taken are free again.
  template <typename Freed>
  void post(std::uint64_t wr_id, Freed freed) {
    if (posted_ - freed_ >= limit_) [[unlikely]] {
      freed_ = freed();
      if (posted_ - freed_ >= limit_) complain(wr_id);
    }
    ++posted_;
  }

  std::uint32_t posted() const { return posted_; }
  /// Nothing is outstanding, as after a change to RESET.
  void clear();

 private:
  static constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

  void complain(std::uint64_t wr_id);

  const std::string& name_;
  QueueRoom room_;
  std::uint32_t limit_;  ///< what is outstanding before a post may not reach it
  Finding full_;
  Complaints& complaints_;
  std::uint32_t posted_ = 0;
  std::uint32_t freed_ = 0;  // as it was found last
};

}  // namespace urnic::verbs_api
