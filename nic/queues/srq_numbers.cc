// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/srq_numbers.h"

namespace urnic::nic {

namespace {

constexpr std::uint32_t kSrqMask = 0xffffff;

}  // namespace

std::uint32_t SrqNumbers::take() {
  while (true) {
    const std::uint32_t number = next_;
    next_ = (next_ + 1) & kSrqMask;
    if (number != 0 && taken_.insert(number).second) return number;
  }
}

}  // namespace urnic::nic
