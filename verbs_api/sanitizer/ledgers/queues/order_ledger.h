// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// OrderLedger: WRITEs of a device's queue pairs that are outstanding together.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "transport/wire/address.h"
#include "transport/work_request.h"
#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

/// Finds WRITEs that look like a flag for the data of another queue pair: a few bytes, for the same region of
/// the same host, soon after the other's. Any thread.
class OrderLedger {
 public:
  static constexpr std::uint64_t kMostFlagBytes = 8;
  static constexpr std::uint64_t kMostGapBytes = 4096;
  /// Looked through at each flag; older ones are forgotten.
  static constexpr std::size_t kMostWrites = 256;

  struct Write {
    const std::string* queue_pair;  ///< its name, by which it is known; outlives what is here of it
    std::uint32_t number = 0;       ///< among what is posted to the queue pair, counting up
    std::uint64_t wr_id = 0;
    transport::wire::Gid peer{};
    transport::Rkey rkey{};
    std::uint64_t address = 0;  ///< the peer's
    std::uint64_t length = 0;   ///< bytes
  };

  explicit OrderLedger(Complaints& complaints) : complaints_(complaints) {}

  bool is_wanted() const { return complaints_.wants(Finding::kOrderBetweenQueuePairs); }
  void posted(const Write& write);
  /// What was posted to the queue pair before that number is done.
  void done(const std::string& queue_pair, std::uint32_t next);
  /// Nothing of it is outstanding any more.
  void forget(const std::string& queue_pair);

 private:
  Complaints& complaints_;
  std::mutex mutex_;  // guards what follows
  std::deque<Write> writes_;
};

}  // namespace urnic::verbs_api
