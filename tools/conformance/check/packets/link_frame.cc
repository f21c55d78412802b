// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/packets/link_frame.h"

#include <fmt/core.h>

namespace urnic::check {
namespace {

constexpr std::uint16_t kMacControl = 0x8808;
constexpr std::uint16_t kPauseAll = 0x0001;
constexpr std::uint16_t kPausePriorities = 0x0101;
constexpr Mac kPauseGroup = {{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}};

Mac mac_at(ByteView bytes, std::size_t at) {
  Mac mac;
  for (std::size_t i = 0; i < mac.octets.size(); ++i) mac.octets[i] = load_u8(bytes, at + i);
  return mac;
}

// Fact A3 of the notes on congestion: opcode, vector of classes, eight times with class 0 first. 802.3x has
// one time.
std::optional<PauseFrame> parse_pause(ByteView control) {
  constexpr std::size_t kTimesAt = 4;
  if (control.size() >= 4 && load_u16(control, 0) == kPauseAll) {
    return PauseFrame{.is_of_priorities = false, .priorities = 1, .quanta = {load_u16(control, 2)}};
  }
  if (control.size() < kTimesAt + 2 * kPriorities || load_u16(control, 0) != kPausePriorities) {
    return std::nullopt;
  }
  PauseFrame pause{.priorities = load_u8(control, 3)};
  for (std::size_t i = 0; i < kPriorities; ++i) pause.quanta[i] = load_u16(control, kTimesAt + 2 * i);
  return pause;
}

std::uint8_t priority_of_dscp(unsigned dscp) {
  switch (dscp) {
    case 3:
    case 26:
      return 3;
    case 4:
      return 4;
    case 48:
      return 6;
    default:
      return 0;
  }
}

std::uint8_t priority_of(std::uint16_t type, ByteView behind) {
  switch (type) {
    case 0x8100:
    case 0x88a8:
    case 0x9100:
      return behind.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(load_u8(behind, 0) >> 5);
    case 0x0800:
      return behind.size() < 2 ? std::uint8_t{0} : priority_of_dscp(load_u8(behind, 1) >> 2);
    case 0x86dd:
      return behind.size() < 2 ? std::uint8_t{0} : priority_of_dscp((load_u16(behind, 0) >> 6) & 0x3fu);
    default:
      return 0;
  }
}

}  // namespace

std::string to_string(const Mac& mac) {
  const auto& o = mac.octets;
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", o[0], o[1], o[2], o[3], o[4], o[5]);
}

std::optional<LinkFrame> parse_link(LinkType link_type, ByteView bytes) {
  if (link_type != LinkType::kEthernet || bytes.size() < kEthernetBytes) return std::nullopt;
  LinkFrame frame{.destination = mac_at(bytes, 0), .source = mac_at(bytes, 6)};
  const std::uint16_t type = load_u16(bytes, 12);
  const ByteView behind = bytes.subspan(kEthernetBytes);
  if (type == kMacControl) {
    if (frame.destination == kPauseGroup) frame.pause = parse_pause(behind);
    return frame;
  }
  frame.priority = priority_of(type, behind);
  return frame;
}

}  // namespace urnic::check
