// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/pcap/lost_identification.h"

#include <algorithm>
#include <variant>

#include "transport/wire/byte_order.h"
#include "transport/wire/frame.h"
#include "transport/wire/ipv4.h"

namespace urnic::drivers {

namespace wire = transport::wire;

std::span<const std::byte> LostIdentification::restore(std::span<const std::byte> packet) {
  if (packet.size() > copy_.size()) return packet;
  const auto parsed = wire::parse_ip_packet(packet);
  if (!parsed || !parsed.value().is_ipv4()) return packet;
  const wire::Frame& frame = parsed.value();
  wire::Ipv4 ip = std::get<wire::Ipv4>(frame.ip);
  const auto change =
      identifications_.find(frame.expected_icrc() ^ frame.icrc,
                            wire::IcrcIdentification::bytes_behind(ip.header_bytes(), frame.ib.size()));
  if (change.value_or(0) == 0) return packet;
  ip.identification = static_cast<std::uint16_t>(ip.identification ^ *change);
  std::copy(packet.begin(), packet.end(), copy_.begin());
  const std::span<std::byte> restored = std::span(copy_).first(packet.size());
  wire::emit(ip, restored);
  return restored;
}

}  // namespace urnic::drivers
