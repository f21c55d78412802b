#include "nic/srq_numbers.h"

namespace urnic::nic {

namespace {

constexpr std::uint32_t kMask = 0xffffff;

}  // namespace

std::uint32_t SrqNumbers::take() {
  while (true) {
    const std::uint32_t number = next_;
    next_ = (next_ + 1) & kMask;
    if (number != 0 && taken_.insert(number).second) return number;
  }
}

}  // namespace urnic::nic
