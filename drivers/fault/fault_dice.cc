// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/fault_dice.h"

#include "drivers/fault/chance.h"
#include "transport/wire/ethernet.h"

namespace urnic::drivers {

using transport::wire::Ethernet;

FaultDice::Fate FaultDice::draw(std::size_t frame_bytes) {
  Fate fate;
  fate.is_lost = happens(spec_.loss, random_);
  fate.is_duplicated = happens(spec_.duplicate, random_);
  fate.is_reordered = happens(spec_.reorder, random_);
  const bool is_corrupted = happens(spec_.corrupt, random_);
  const bool is_truncated = happens(spec_.truncate, random_);
  const std::uint64_t length_throw = random_();
  const std::uint64_t bit_throw = random_();
  if (fate.is_lost) return Fate{.is_lost = true};
  if (is_truncated && frame_bytes > Ethernet::kMinBytes) {
    fate.length = Ethernet::kMinBytes + length_throw % (frame_bytes - Ethernet::kMinBytes);
  }
  const std::size_t bits = 8 * fate.length.value_or(frame_bytes);
  if (is_corrupted && bits > 0) fate.flipped_bit = bit_throw % bits;
  return fate;
}

}  // namespace urnic::drivers
