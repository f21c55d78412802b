// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/checks/unreliable_flow.h"

#include <fmt/core.h>

namespace urnic::sim {
namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;

}  // namespace

std::optional<std::string> UnreliableFlow::on_sent(const WireView& packet) {
  if (const std::uint32_t skipped = (packet.psn - next_) & kPsnMask; skipped > 0) {
    skipped_ += skipped;
    const std::uint64_t dropped = expected_.without_neighbor ? expected_.without_neighbor() : 0;
    if (skipped_ > dropped) return fmt::format("PSN {:#x} was due", next_);
  }
  next_ = (packet.psn + 1) & kPsnMask;
  if (is_draining_ && packet.is_first) return "begins a message in SQD or SQE";
  if (packet.ack_request) return "AckReq though the peer never acknowledges (fact 18)";
  if (packet.payload.size() > expected_.mtu_bytes) {
    return fmt::format("{} bytes are more than the MTU", packet.payload.size());
  }
  if (!expected_.is_datagram) return check_message(packet);
  if (packet.source_qp != expected_.qp_number) return fmt::format("comes from QP {:#x}", packet.source_qp);
  return std::nullopt;
}

std::optional<std::string> UnreliableFlow::check_message(const WireView& packet) {
  if (packet.is_first ? open_.has_value() : open_ != packet.kind) return "a packet outside its message";
  if (packet.has_reth) left_ = packet.length;
  if (!packet.is_last && packet.payload.size() != expected_.mtu_bytes) {
    return "a packet that is not the last is not full";
  }
  if (packet.is_last && !packet.is_first && packet.payload.empty()) return "an empty LAST packet";
  if (packet.kind == PacketKind::kWrite) {
    if (packet.payload.size() > left_) return "more bytes than the RETH says (fact 29)";
    left_ -= packet.payload.size();
    if (packet.is_last && left_ > 0) return "less bytes than the RETH says (fact 29)";
  }
  open_ = packet.is_last ? std::nullopt : std::optional(packet.kind);
  return std::nullopt;
}

}  // namespace urnic::sim
