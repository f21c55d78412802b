// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/recovery/held_psns.h"

#include <algorithm>

namespace urnic::transport {

std::uint32_t HeldPsns::size_before(Psn psn) const {
  const std::int32_t ahead = distance(expected_, psn);
  if (ahead <= 0 || held_.none()) return 0;
  const std::size_t behind =
      held_.size() - std::min<std::size_t>(static_cast<std::size_t>(ahead), held_.size());
  return static_cast<std::uint32_t>((held_ << behind).count());
}

void HeldPsns::write(std::span<std::byte, kBitmapBytes> bitmap) const {
  std::ranges::fill(bitmap, std::byte{0});
  for (std::size_t i = 0; i < kReach; ++i) {
    if (held_[i + 1]) bitmap[i / 8] |= std::byte{1} << (i % 8);
  }
}

void HeldPsns::merge(Bitmap bitmap) {
  for (std::uint32_t i = 0; i < kReach; ++i) {
    if ((bitmap[i / 8] & std::byte{1} << (i % 8)) != std::byte{0}) insert(expected_ + (1 + i));
  }
}

}  // namespace urnic::transport
