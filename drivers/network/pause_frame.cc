// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/pause_frame.h"

#include <algorithm>

#include "transport/wire/byte_order.h"

namespace urnic::network {
namespace {

namespace wire = transport::wire;

constexpr wire::Mac kPauseGroup{{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}};
constexpr std::uint16_t kPauseEtherType = 0x8808;
constexpr std::uint16_t kPriorityPause = 0x0101;

constexpr std::size_t kEtherTypeAt = 12;
constexpr std::size_t kOpcodeAt = 14;
constexpr std::size_t kVectorAt = 16;
constexpr std::size_t kTimesAt = 18;
constexpr std::size_t kTimesEnd = kTimesAt + 2 * kPriorities;

}  // namespace

std::optional<PauseFrame> PauseFrame::parse(std::span<const std::byte> frame) {
  if (frame.size() < kTimesEnd || wire::load_address<wire::Mac>(frame, 0) != kPauseGroup) return std::nullopt;
  if (wire::load_u16(frame, kEtherTypeAt) != kPauseEtherType) return std::nullopt;
  if (wire::load_u16(frame, kOpcodeAt) != kPriorityPause) return std::nullopt;
  PauseFrame pause;
  pause.priorities = static_cast<std::uint8_t>(wire::load_u16(frame, kVectorAt));
  for (std::size_t i = 0; i < kPriorities; ++i) pause.quanta[i] = wire::load_u16(frame, kTimesAt + 2 * i);
  return pause;
}

std::size_t emit(const PauseFrame& pause, const wire::Mac& source, std::span<std::byte> out) {
  std::fill_n(out.begin(), PauseFrame::kBytes, std::byte{0});
  wire::store_address(out, 0, kPauseGroup);
  wire::store_address(out, wire::Mac::kBytes, source);
  wire::store_u16(out, kEtherTypeAt, kPauseEtherType);
  wire::store_u16(out, kOpcodeAt, kPriorityPause);
  wire::store_u16(out, kVectorAt, pause.priorities);
  for (std::size_t i = 0; i < kPriorities; ++i) wire::store_u16(out, kTimesAt + 2 * i, pause.quanta[i]);
  return PauseFrame::kBytes;
}

}  // namespace urnic::network
