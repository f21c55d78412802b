// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/management_packet.h"

#include <cstdint>
#include <variant>

#include "transport/types.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/opcode.h"

namespace urnic::drivers {

namespace cm = nic::cm;
namespace wire = transport::wire;

namespace {

constexpr transport::QpNumber kManagementQp{1};

}  // namespace

bool is_intact(const wire::Frame& frame, wire::IcrcIdentification& identifications) {
  const std::uint32_t difference = frame.expected_icrc() ^ frame.icrc;
  if (difference == 0) return true;
  const auto* const ipv4 = std::get_if<wire::Ipv4>(&frame.ip);
  if (ipv4 == nullptr) return false;
  const std::size_t behind = wire::IcrcIdentification::bytes_behind(ipv4->header_bytes(), frame.ib.size());
  return identifications.find(difference, behind).has_value();
}

bool is_for_management(const wire::Packet& packet) {
  return packet.bth.destination_qp == kManagementQp && packet.bth.opcode == wire::Opcode::kUdSendOnly &&
         packet.payload.size() == cm::kMadBytes;
}

std::optional<ManagementPacket> read_management_packet(std::span<const std::byte> bytes) {
  wire::IcrcIdentification identifications;
  wire::Frame frame;
  wire::Packet packet;
  if (frame.read_ip_packet(bytes) || packet.read(frame.ib) || !is_intact(frame, identifications) ||
      !is_for_management(packet)) {
    return std::nullopt;
  }
  auto parsed = cm::parse(packet.payload);
  auto* const mad = std::get_if<cm::Mad>(&parsed);
  if (mad == nullptr) return std::nullopt;
  return ManagementPacket{.source = frame.source_gid(), .destination = frame.destination_gid(), .mad = *mad};
}

}  // namespace urnic::drivers
