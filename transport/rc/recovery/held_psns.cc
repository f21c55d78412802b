#include "transport/rc/recovery/held_psns.h"

#include <algorithm>

namespace urnic::transport {

void HeldPsns::write(std::span<std::byte, kBitmapBytes> bitmap) const {
  std::ranges::fill(bitmap, std::byte{0});
  for (std::size_t i = 0; i < kReach; ++i) {
    if (held_[i]) bitmap[i / 8] |= std::byte{1} << (i % 8);
  }
}

void HeldPsns::merge(Bitmap bitmap) {
  for (std::uint32_t i = 0; i < kReach; ++i) {
    if ((bitmap[i / 8] & std::byte{1} << (i % 8)) != std::byte{0}) insert(expected_ + (1 + i));
  }
}

}  // namespace urnic::transport
