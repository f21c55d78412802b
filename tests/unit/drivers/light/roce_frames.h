// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RoCE frames for ports whose faults look at packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/unit/drivers/light/fake_port.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/frame.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/packet.h"

namespace urnic::drivers::test {

/// Ends of the frames below: `near` is ours, `far` the peer's.
struct RoceEnds {
  transport::wire::Gid near{};
  transport::wire::Gid far{};
};

inline const RoceEnds kIpv4Ends{transport::wire::Gid::parse("::ffff:10.0.0.1").value(),
                                transport::wire::Gid::parse("::ffff:10.0.0.2").value()};
inline const RoceEnds kIpv6Ends{transport::wire::Gid::parse("fd00::1").value(),
                                transport::wire::Gid::parse("fd00::2").value()};

struct RoceFrame {
  transport::wire::Opcode opcode{};
  std::uint32_t qp = 0;
  std::uint32_t psn = 0;
  std::uint8_t syndrome = 0;
  std::size_t payload = 0;
  bool is_received = false;
  RoceEnds ends = kIpv4Ends;
  std::uint16_t udp_checksum = 0;
  transport::wire::Encapsulation encapsulation = transport::wire::Encapsulation::kRoceV2;

  /// With a right ICRC.
  Bytes bytes() const {
    namespace wire = transport::wire;
    Bytes packet(wire::header_bytes(opcode) + (payload + 3) / 4 * 4, std::byte{0x5a});
    wire::Packet headers{.bth = {.opcode = opcode,
                                 .pad_count = wire::pad_bytes(payload),
                                 .destination_qp = transport::QpNumber{qp},
                                 .psn = transport::Psn(psn)},
                         .aeth = {.syndrome = syndrome, .msn = 1}};
    wire::emit_headers(headers, packet);
    const wire::Gid& source = is_received ? ends.far : ends.near;
    const wire::Gid& destination = is_received ? ends.near : ends.far;
    wire::Frame frame{.encapsulation = encapsulation, .ib = packet};
    if (encapsulation == wire::Encapsulation::kRoceV1) {
      frame.ethernet.ether_type = wire::EtherType::kRoceV1;
      frame.ip =
          wire::Ipv6{.next_header = wire::IpProtocol::kBth, .source = source, .destination = destination};
    } else if (source.is_ipv4_mapped()) {
      frame.ethernet.ether_type = wire::EtherType::kIpv4;
      frame.ip = wire::Ipv4{.source = source.ipv4(), .destination = destination.ipv4()};
    } else {
      frame.ethernet.ether_type = wire::EtherType::kIpv6;
      frame.ip = wire::Ipv6{.source = source, .destination = destination};
    }
    frame.udp.checksum = udp_checksum;
    Bytes result(packet.size() + 200);
    result.resize(wire::emit_frame(frame, result));
    frame = wire::parse_frame(result).value();
    wire::store_icrc(frame.expected_icrc(), std::span(result).subspan(frame.used_bytes - wire::kIcrcBytes));
    return result;
  }
};

}  // namespace urnic::drivers::test
