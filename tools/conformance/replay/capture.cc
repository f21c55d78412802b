// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/capture.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tools/conformance/check/packets/icrc.h"

namespace urnic::replay {

namespace {

const char* reason_of(check::FrameFault fault) {
  switch (fault) {
    case check::FrameFault::kIpLength:
      return "its IP length does not fit the frame";
    case check::FrameFault::kUdpLength:
      return "its UDP length does not fit";
    case check::FrameFault::kFragment:
      return "it is a fragment";
    case check::FrameFault::kNone:
      break;
  }
  return "";
}

const char* reason_of(check::PacketFault fault) {
  switch (fault) {
    case check::PacketFault::kUnknownOpcode:
      return "its opcode does not exist";
    case check::PacketFault::kTooShort:
      return "it is too short for its opcode";
    case check::PacketFault::kMisaligned:
      return "its payload and padding are not a multiple of four bytes";
    case check::PacketFault::kPadding:
      return "it has more padding than payload";
    case check::PacketFault::kCut:
    case check::PacketFault::kNone:
      break;
  }
  return "the capture cut it short";
}

}  // namespace

void Capture::add(check::LinkType link_type, const check::RawFrame& raw) {
  if (is_full()) return;
  ++frames_;
  const auto seen = check::parse_frame(link_type, raw.bytes);
  if (!seen || (!seen->is_roce_v1 && seen->destination_port != check::kRocePort)) return;
  if (seen->is_roce_v1) return leave_out(raw.number, "it is RoCEv1");
  if (seen->fault != check::FrameFault::kNone) return leave_out(raw.number, reason_of(seen->fault));
  if (seen->is_cut()) {
    return leave_out(raw.number,
                     fmt::format("the capture has {} of its {} bytes", raw.bytes.size(), raw.wire_bytes));
  }
  const auto icrc = check::judge_icrc(*seen);
  if (!icrc || !icrc->is_right()) return leave_out(raw.number, "its ICRC is wrong: a receiver drops it");

  CapturedPacket kept{
      .number = raw.number, .time_ns = raw.time_ns, .bytes = {raw.bytes.begin(), raw.bytes.end()}};
  kept.frame = *check::parse_frame(link_type, kept.bytes);
  kept.packet = check::parse_packet(kept.frame);
  if (kept.packet.fault != check::PacketFault::kNone) {
    return leave_out(raw.number, reason_of(kept.packet.fault));
  }
  if (kept.packet.info->operation == check::Operation::kSelectiveNak) {
    return leave_out(raw.number, "it is a selective NAK, which is not played");
  }
  kept.flow = connections_.flow_of(kept.frame, kept.packet, true);
  if (kept.flow == check::kNoFlow) return leave_out(raw.number, "there are too many flows");
  connections_.on_packet(kept.flow, check::Seen{.frame = kept.frame,
                                                .packet = kept.packet,
                                                .number = raw.number,
                                                .time_ns = raw.time_ns,
                                                .is_damaged = false,
                                                .icrc = icrc->seen});
  imprints_.resize(std::max<std::size_t>(imprints_.size(), kept.flow + 1));
  kept.is_copy = is_network_copy(imprints_[kept.flow], kept.frame, icrc->seen);
  bytes_ += kept.bytes.size() + sizeof(CapturedPacket);
  packets_.push_back(std::move(kept));
}

void Capture::leave_out(std::uint64_t frame, std::string reason) {
  ++left_out_count_;
  if (left_out_.size() < kMostLeftOut) left_out_.push_back({.frame = frame, .reason = std::move(reason)});
}

// Only a sender that numbers its datagrams lets one tell a copy from a repetition.
bool Capture::is_network_copy(Imprints& imprints, const check::Frame& frame, std::uint32_t icrc) {
  if (frame.is_ipv6) return false;
  const auto is_same = [&](const Imprints::Imprint& other) {
    return other.icrc == icrc && other.ip_id == frame.ip_id;
  };
  const bool is_copy =
      imprints.ids_vary && std::any_of(imprints.latest.begin(), imprints.latest.end(), is_same);
  const auto& last = imprints.latest[(imprints.next + imprints.latest.size() - 1) % imprints.latest.size()];
  imprints.ids_vary = imprints.ids_vary || (imprints.has_any && last.ip_id != frame.ip_id);
  imprints.has_any = true;
  imprints.latest[imprints.next] = {.icrc = icrc, .ip_id = frame.ip_id};
  imprints.next = (imprints.next + 1) % imprints.latest.size();
  return is_copy;
}

}  // namespace urnic::replay
