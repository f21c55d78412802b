// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/queue_pair_table.h"

#include <cassert>
#include <random>

namespace urnic::nic {

using transport::QpNumber;
using transport::to_integer;

namespace {

constexpr unsigned kNumberBits = 24;
constexpr std::uint32_t kNumberMask = (1u << kNumberBits) - 1;
static_assert((QueuePairTable::kSlots & (QueuePairTable::kSlots - 1)) == 0, "the slot is the low bits");

/// Other parts of a device draw from the same seed; this keeps their numbers from being related.
constexpr std::uint64_t kStream = 0x51504e;

}  // namespace

QueuePairTable::QueuePairTable(std::uint64_t seed)
    : slots_(kSlots), next_(static_cast<std::uint32_t>(std::mt19937_64(seed ^ kStream)()) & kNumberMask) {}

std::optional<QpNumber> QueuePairTable::allocate() {
  if (taken_ == kSlots) return std::nullopt;
  // A slot is free, so one of the next numbers has it; only three numbers are excluded.
  while (true) {
    const std::uint32_t candidate = share_.own(next_, kNumberBits);
    next_ = (next_ + 1) & kNumberMask;
    if (candidate < 2 || candidate == to_integer(kMulticastQp)) continue;
    Slot& slot = slots_[candidate % kSlots];
    if (slot.number != QpNumber{}) continue;
    slot.number = QpNumber{candidate};
    ++taken_;
    return slot.number;
  }
}

void QueuePairTable::insert(QpNumber number, QueuePair& qp) {
  Slot& slot = slots_[to_integer(number) % kSlots];
  assert(slot.number == number && slot.qp == nullptr);
  slot.qp = &qp;
}

void QueuePairTable::release(QpNumber number) {
  Slot& slot = slots_[to_integer(number) % kSlots];
  assert(slot.number == number);
  slot = {};
  --taken_;
}

}  // namespace urnic::nic
