// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/core/management_view.h"

#include "tools/conformance/check/packets/packet.h"

namespace urnic::sim {
namespace {

/// Nothing for what is no RoCEv2 packet.
std::optional<check::Packet> read_packet(std::span<const std::byte> bytes) {
  const auto frame = check::parse_frame(check::LinkType::kEthernet, bytes);
  if (!frame || frame->destination_port != check::kRocePort) return std::nullopt;
  if (frame->fault != check::FrameFault::kNone || frame->is_cut()) return std::nullopt;
  return check::parse_packet(*frame);
}

}  // namespace

bool is_management(std::span<const std::byte> frame) {
  const auto packet = read_packet(frame);
  return packet && packet->destination_qp == kManagementQp;
}

std::optional<CmMessage> read_management(std::span<const std::byte> frame) {
  const auto packet = read_packet(frame);
  if (!packet || !check::is_cm(*packet) || !check::has_right_header(*packet)) return std::nullopt;
  return check::parse_cm(*packet);
}

}  // namespace urnic::sim
