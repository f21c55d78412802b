// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/port_hints.h"

#include <algorithm>

#include "tools/conformance/check/packets/packet.h"

namespace urnic::check {
namespace {

constexpr std::uint16_t kFullMembership = 0x8000;
constexpr std::uint16_t kDefaultPartition = 0x7fff;

/// A known opcode whose headers fit, the default partition, version 0 and no reserved bit: of rubbish, one in
/// ten thousand million has that.
bool parses_as_bth(const Frame& frame) {
  if (frame.fault != FrameFault::kNone || frame.ib.size() < kBthBytes) return false;
  const Packet packet = parse_packet(frame);
  return (packet.fault == PacketFault::kNone || packet.fault == PacketFault::kCut) && packet.version == 0 &&
         packet.reserved == 0 && (packet.p_key & ~kFullMembership) == kDefaultPartition;
}

}  // namespace

bool is_roce(const Frame& frame, const UdpPorts& ports) {
  return frame.is_roce_v1 || frame.destination_port == kRocePort ||
         std::find(ports.begin(), ports.end(), frame.destination_port) != ports.end();
}

void PortHints::add(const Frame& frame) {
  if (!parses_as_bth(frame)) return;
  const auto known = by_port_.find(frame.destination_port);
  if (known != by_port_.end()) {
    ++known->second;
  } else if (by_port_.size() < kMostPorts) {
    by_port_.emplace(frame.destination_port, 1);
  }
}

}  // namespace urnic::check
