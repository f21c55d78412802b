// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/core/notification_view.h"

#include <algorithm>

#include "tools/conformance/check/packets/icrc.h"
#include "tools/conformance/check/packets/packet.h"

namespace urnic::sim {
namespace {

constexpr std::uint8_t kCongestionExperienced = 3;
constexpr std::uint8_t kCnpTrafficClass = 48 << 2 | 2;  // DSCP 48, ECT(0)
constexpr std::size_t kZeros = 16;

std::string complaint_about(const check::Frame& frame, const check::Packet& packet) {
  const std::uint8_t dscp_and_ect = frame.traffic_class | 1u;  // the network may have marked it
  if (dscp_and_ect != (kCnpTrafficClass | 1u)) return "DSCP is not 48, or it cannot be marked";
  if (!packet.becn || packet.fecn || packet.reserved != 0) return "BECN alone is not set";
  if (packet.migration || packet.solicited || packet.ack_requested || packet.pad_bytes != 0) {
    return "a flag is set";
  }
  if (packet.version != 0 || packet.p_key != 0xffff || packet.psn.value() != 0) return "TVer, P_Key or PSN";
  const bool is_zero =
      std::ranges::all_of(packet.payload, [](std::byte byte) { return byte == std::byte{0}; });
  if (packet.payload_bytes != kZeros || !is_zero) return "there are not 16 bytes of zeros";
  return check::judge_icrc(frame)->is_right() ? "" : "ICRC is wrong";
}

}  // namespace

std::optional<NotificationView> read_notification(std::span<const std::byte> bytes) {
  const auto frame = check::parse_frame(check::LinkType::kEthernet, bytes);
  if (!frame || frame->destination_port != check::kRocePort) return std::nullopt;
  if (frame->fault != check::FrameFault::kNone || frame->is_cut()) return std::nullopt;
  const check::Packet packet = check::parse_packet(*frame);
  if (packet.info->operation != check::Operation::kCnp) return std::nullopt;
  return NotificationView{.destination_qp = packet.destination_qp,
                          .complaint = complaint_about(*frame, packet)};
}

bool is_congestion_marked(std::span<const std::byte> bytes) {
  const auto frame = check::parse_frame(check::LinkType::kEthernet, bytes);
  return frame && (frame->traffic_class & kCongestionExperienced) == kCongestionExperienced;
}

}  // namespace urnic::sim
