// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QueuePairTable: queue pairs by number, and which number the next one gets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nic/config.h"
#include "nic/port/number_share.h"
#include "transport/types.h"

namespace urnic::nic {

class QueuePair;

/// Receivers of a group (fact 43).
inline constexpr transport::QpNumber kMulticastQp{0xffffff};

/// Numbers are handed out one after the other through all 24 bits, from a random place on (a restarted
/// program must not look like its stale self), so that a freed one comes back only after millions of others.
/// Their low bits are the slot in the table; a number whose slot is taken is passed over. All calls under the
/// engine lock.
class QueuePairTable {
 public:
  static constexpr std::uint32_t kSlots = DeviceLimits::kMaxQueuePairs;

  explicit QueuePairTable(std::uint64_t seed);

  /// Numbers are of this share from now on. None was allocated yet.
  void use(NumberShare share) { share_ = share; }

  /// Reserves a number: never 0, 1 (the management queue pairs) or 0xffffff (multicast). Nothing when kSlots
  /// are taken.
  std::optional<transport::QpNumber> allocate();
  /// Makes find(number) find `qp`; the number was allocated.
  void insert(transport::QpNumber number, QueuePair& qp);
  /// Frees the number.
  void release(transport::QpNumber number);

  /// How many numbers are taken.
  std::uint32_t count() const { return taken_; }

  /// Calls visit(QueuePair&) for each queue pair.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.qp != nullptr) visit(*slot.qp);
    }
  }

  /// The same for those in the `count` slots from `first` on.
  template <typename Visit>
  void for_each_in(std::uint32_t first, std::uint32_t count, Visit visit) const {
    for (std::uint32_t i = first; i < kSlots && i - first < count; ++i) {
      if (slots_[i].qp != nullptr) visit(*slots_[i].qp);
    }
  }

  /// The queue pair of this number, or null.
  QueuePair* find(transport::QpNumber number) const {
    const Slot& slot = slots_[transport::to_integer(number) % kSlots];
    return slot.number == number ? slot.qp : nullptr;
  }

 private:
  struct Slot {
    transport::QpNumber number{};  // 0: free
    QueuePair* qp = nullptr;       // null: reserved
  };

  std::vector<Slot> slots_;
  NumberShare share_;
  std::uint32_t next_;
  std::uint32_t taken_ = 0;
};

}  // namespace urnic::nic
