// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SrqWatch: the shared receive queues of a device, of which the device is asked how full they are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/queues/srq_ledger.h"

namespace urnic::verbs_api {

/// Takes the engine lock: any thread that has neither that one nor the lock of polls.
class SrqWatch {
 public:
  struct State {
    std::uint32_t waiting = 0;  ///< receives that no queue pair has taken
    std::uint32_t limit = 0;    ///< 0: none is armed
  };
  using Ask = std::function<State()>;

  explicit SrqWatch(Complaints& complaints) : complaints_(complaints) {}

  /// `ask` is called until remove() returns.
  void add(std::uint32_t number, std::shared_ptr<SrqLedger> ledger, Ask ask);
  void remove(std::uint32_t number);

  /// The program has armed the event of the limit; 0 disarms it.
  void armed(std::uint32_t number, std::uint32_t limit);
  /// A queue pair of XRC is gone, with receives that it had taken: what does not wait is free.
  void recount() const;
  /// Time has passed. Complains of queues that are empty, as they were at the last look, since their limit
  /// was reached.
  void look();

 private:
  struct Queue {
    std::shared_ptr<SrqLedger> ledger;
    Ask ask;
    std::uint32_t armed_at = 0;  ///< the limit that was armed last
    bool was_dry = false;
  };

  Complaints& complaints_;
  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<std::uint32_t, Queue> queues_;
};

}  // namespace urnic::verbs_api
