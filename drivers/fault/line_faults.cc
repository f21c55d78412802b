// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/line_faults.h"

#include <algorithm>

#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {
namespace {

using transport::to_integer;

/// So that the two ways of a line do not suffer alike.
constexpr std::uint64_t kReceiveSalt = 0x9e3779b97f4a7c15u;
/// Nor alike with what the exact faults draw.
constexpr std::uint64_t kExactSalt = 0xbf58476d1ce4e5b9u;

/// How much of a frame's beginning is spared.
std::size_t spared_bytes(nic::Medium medium, std::span<const std::byte> frame) {
  if (medium == nic::Medium::kEthernet || frame.empty()) return 0;
  const bool is_ipv4 = std::to_integer<unsigned>(frame[0]) >> 4 == 4;
  const std::size_t headers = (is_ipv4 ? transport::wire::Ipv4::kMinBytes : transport::wire::Ipv6::kBytes) +
                              transport::wire::Udp::kBytes;
  return std::min(headers, frame.size());
}

}  // namespace

LineFaults::LineFaults(const FaultSpec& spec, nic::Medium medium)
    : spec_(spec),
      medium_(medium),
      dice_{FaultDice(spec, spec.seed), FaultDice(spec, spec.seed ^ kReceiveSalt)},
      exact_(spec.exact, spec.seed ^ kExactSalt, medium) {}

// Exact faults have to see both ways.
bool LineFaults::is_about(Way way) const {
  const bool has_dice = way == Way::kSent ? spec_.afflicts_transmit() : spec_.afflicts_receive();
  return has_dice || !exact_.is_empty();
}

FrameFate LineFaults::judge(Way way, std::span<const std::byte> frame) {
  const FaultDice::Fate dice = throw_dice(way, frame);
  const ExactFaults::Fate exact = exact_.is_empty() ? ExactFaults::Fate{} : exact_.judge(way, frame);
  if (exact.is_hit()) {
    return {.is_lost = exact.is_lost,
            .is_duplicated = exact.is_duplicated,
            .behind = exact.behind,
            .delay = exact.delay,
            .exact = exact};
  }
  return {.is_lost = dice.is_lost,
          .is_duplicated = dice.is_duplicated,
          .behind = dice.is_reordered ? spec_.gap : 0,
          .length = dice.length,
          .flipped_bit = dice.flipped_bit};
}

FaultDice::Fate LineFaults::throw_dice(Way way, std::span<const std::byte> frame) {
  const bool has_dice = way == Way::kSent ? spec_.afflicts_transmit() : spec_.afflicts_receive();
  if (!has_dice) return {};
  FaultDice::Fate fate = dice_[to_integer(way)].draw(frame.size());
  const std::size_t spared = spared_bytes(medium_, frame);
  if (spared == 0) return fate;
  if (fate.length) fate.length = std::max(*fate.length, spared);
  const std::size_t hurt_bits = 8 * (fate.length.value_or(frame.size()) - spared);
  if (hurt_bits == 0) fate.flipped_bit.reset();
  if (fate.flipped_bit) fate.flipped_bit = 8 * spared + *fate.flipped_bit % hurt_bits;
  return fate;
}

void LineFaults::change(const FrameFate& fate, std::span<std::byte> frame) {
  if (fate.flipped_bit) frame[*fate.flipped_bit / 8] ^= std::byte{1} << (*fate.flipped_bit % 8);
  exact_.change(fate.exact, frame);
}

}  // namespace urnic::drivers
