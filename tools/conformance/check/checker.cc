// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/checker.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/conformance/check/packet_rules.h"
#include "tools/conformance/check/packets/icrc.h"
#include "tools/conformance/check/packets/link_frame.h"
#include "tools/conformance/check/packets/packet.h"

namespace urnic::check {

IcrcResult Checker::add(LinkType link_type, const RawFrame& raw) {
  counts_.first_ns = counts_.frames == 0 ? raw.time_ns : std::min(counts_.first_ns, raw.time_ns);
  counts_.late += raw.time_ns < counts_.last_ns ? 1 : 0;
  counts_.last_ns = std::max(counts_.last_ns, raw.time_ns);
  ++counts_.frames;
  counts_.bytes += raw.wire_bytes;
  has_packet_ = false;
  latest_ = unwrapper_.look(link_type, raw.bytes, raw.time_ns);
  const auto link = parse_link(LinkType::kEthernet, latest_.link);
  if (link && link->pause) pauses_.on_pause(*link, raw.number, raw.time_ns);
  const auto& first = latest_.first_fragment;
  if (first && first->fault == FrameFault::kFragment && is_roce(*first, udp_ports_)) {
    check_frame(*first, raw.number, kNoFlow, findings_);
  }
  if (!latest_.frame) return leave_out();
  const Frame& frame = *latest_.frame;
  if (!is_roce(frame, udp_ports_)) {
    if (!is_misdirected_roce(frame)) {
      port_hints_.add(frame);
      return leave_out();
    }
    findings_.add(Rule::kUdpPort, kNoFlow, {raw.number}, std::to_string(kRocePort),
                  fmt::format("{}, with a right ICRC", frame.destination_port));
  }
  // Without a PSN nothing tells a copy from another packet.
  const bool can_tell = frame.fault == FrameFault::kNone && frame.ib.size() >= kBthBytes;
  has_packet_ = !can_tell || !doubles_.is_copy(frame, raw.time_ns);
  if (!has_packet_) {
    ++counts_.copies;
    return IcrcResult::kNotRoce;
  }
  if (link) pauses_.on_roce(*link, raw.number, raw.time_ns);
  return take_roce(frame, raw);
}

IcrcResult Checker::leave_out() {
  if (latest_.is_fragment) {
    ++counts_.fragments;
  } else {
    ++counts_.others;
  }
  if (latest_.obstacle != Obstacle::kNone) {
    ++counts_.not_looked_into[static_cast<std::size_t>(latest_.obstacle)];
  }
  return IcrcResult::kNotRoce;
}

IcrcResult Checker::take_roce(const Frame& frame, const RawFrame& raw) {
  ++(frame.is_roce_v1 ? counts_.roce_v1 : counts_.roce_v2);
  for (std::size_t wrapping = 0; wrapping < kWrappings; ++wrapping) {
    counts_.wrapped[wrapping] += latest_.wrappings.test(wrapping) ? 1 : 0;
  }
  counts_.ecn_marked += is_marked(frame) ? 1 : 0;
  const IcrcResult result = judge(frame, raw);
  switch (result) {
    case IcrcResult::kRight:
      ++counts_.icrc_right;
      break;
    case IcrcResult::kWrong:
      ++counts_.icrc_wrong;
      break;
    default:
      ++counts_.icrc_unknown;
      break;
  }
  return result;
}

/// Whether the headers announce more bytes than the frame had on the wire: then the sender is to blame for
/// what is missing, and otherwise the capture, or the mirror that sent a part of the frame.
bool Checker::exceeds_wire(const Frame& frame, const RawFrame& raw) const {
  return frame.is_cut() && !latest_.is_wrapped() &&
         raw.wire_bytes < raw.bytes.size() + frame.ib_bytes - frame.ib.size();
}

bool Checker::is_misdirected_roce(const Frame& frame) const {
  if (frame.fault != FrameFault::kNone || frame.is_cut() || frame.ib.size() < kLeastIbBytes ||
      !info_of(load_u8(frame.ib, 0)).is_known()) {
    return false;
  }
  const auto icrc = judge_icrc(frame);
  return icrc && icrc->is_right();
}

IcrcResult Checker::judge(const Frame& frame, const RawFrame& raw) {
  if (frame.fault != FrameFault::kNone || frame.ib.size() < kBthBytes) {
    check_frame(frame, raw.number, kNoFlow, findings_);
    if (frame.fault == FrameFault::kNone) judge_cut(frame, raw, kNoFlow);
    return IcrcResult::kUnknown;
  }
  const Packet packet = parse_packet(frame);
  auto icrc = judge_icrc(frame);
  if (icrc && !icrc->is_right() && frame.destination_port != kRocePort && !frame.is_roce_v1) {
    // A mirror wrote its own port. If that does not explain it either, the ICRC is wrong.
    if (const auto as_sent = judge_icrc(frame, kRocePort); as_sent && as_sent->is_right()) icrc = as_sent;
  }
  const bool is_damaged = icrc && !icrc->is_right();
  const bool may_found = !is_damaged && packet.fault == PacketFault::kNone && !exceeds_wire(frame, raw);
  const std::uint32_t flow = connections_.flow_of(frame, packet, may_found);
  check_frame(frame, raw.number, flow, findings_);
  if (!judge_cut(frame, raw, flow)) return IcrcResult::kUnknown;
  if (is_damaged) {
    findings_.add(Rule::kIcrc, flow, {raw.number}, fmt::format("{:08x}", icrc->expected),
                  fmt::format("{:08x}", icrc->seen));
  }
  // The models do not see it.
  if (packet.fault == PacketFault::kCut) findings_.set_lossy();
  if (packet.fault == PacketFault::kNone) {
    const Seen seen{.frame = frame,
                    .packet = packet,
                    .number = raw.number,
                    .time_ns = raw.time_ns,
                    .is_damaged = is_damaged,
                    .icrc = icrc ? icrc->seen : 0};
    follow(flow, seen);
  } else if (!is_damaged) {
    report_fault(frame, packet, raw.number, flow, findings_);
  }
  return !icrc ? IcrcResult::kUnknown : is_damaged ? IcrcResult::kWrong : IcrcResult::kRight;
}

bool Checker::judge_cut(const Frame& frame, const RawFrame& raw, std::uint32_t flow) {
  if (!frame.is_cut()) return true;
  const std::size_t missing = frame.ib_bytes - frame.ib.size();
  if (exceeds_wire(frame, raw)) {
    findings_.add(Rule::kIpLength, flow, {raw.number}, fmt::format("{} bytes at most", raw.wire_bytes),
                  fmt::format("{} bytes more", raw.bytes.size() + missing - raw.wire_bytes));
    return false;
  }
  findings_.add(Rule::kCutFrame, flow, {raw.number}, fmt::format("{} bytes", raw.wire_bytes),
                fmt::format("{} bytes captured: no ICRC to check", raw.bytes.size()));
  if (frame.ib.size() < kBthBytes) findings_.set_lossy();
  return frame.ib.size() >= kBthBytes;
}

void Checker::follow(std::uint32_t flow, const Seen& seen) {
  const Packet& packet = seen.packet;
  if (flow == kNoFlow && !seen.is_damaged) {
    findings_.add(Rule::kUntracked, kNoFlow, {seen.number},
                  fmt::format("{} flows at most", Connections::kMaxFlows), "another one");
  }
  // What a damaged packet says breaks no further rule: its receiver never looked at it.
  findings_.mute(seen.is_damaged);
  counts_.cnps += packet.info->service == Service::kCnp && !seen.is_damaged ? 1 : 0;
  check_packet(packet, seen.number, flow, findings_);
  if (flow != kNoFlow) {
    connections_.on_packet(flow, seen);
    const Flow& known = connections_.flows()[flow];
    if (!seen.is_damaged) notifications_.on_packet(flow, known.peer, known.key, seen);
  }
  findings_.mute(false);
}

void Checker::finish() {
  connections_.finish(counts_.last_ns);
  const std::vector<Flow>& flows = connections_.flows();
  notifications_.finish(static_cast<std::uint32_t>(flows.size()),
                        [&flows](std::uint32_t flow) { return flows[flow].peer; });
  pauses_.finish(counts_.last_ns);
}

}  // namespace urnic::check
