// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/connections/mad_packet.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tools/conformance/script/packet_text.h"

namespace urnic::conform::connections {
namespace {

using scripts::connections::Mad;

constexpr std::uint64_t kManagementQkey = 0x80010000;
constexpr std::uint64_t kDefaultPkey = 0xffff;

}  // namespace

std::vector<std::byte> make_mad_packet(std::span<const std::byte> mad, std::uint32_t psn) {
  auto packet = *scripts::named_packet("SEND_ONLY", scripts::WireService::kUd);
  packet.dst = kManagementQp;
  packet.psn = psn & 0xffffff;
  packet.qkey = kManagementQkey;
  packet.src = kManagementQp;
  packet.pad = (4 - mad.size() % 4) % 4;
  packet.payload.assign(mad.begin(), mad.end());
  return encode(packet);
}

std::optional<HeardMad> read_mad_packet(std::span<const std::byte> ib) {
  scripts::Decoded decoded = scripts::decode(ib);
  const scripts::PacketFields& packet = decoded.packet;
  if (packet.payload.size() != Mad::kBytes) return std::nullopt;
  std::array<std::byte, Mad::kBytes> bytes{};
  std::copy(packet.payload.begin(), packet.payload.end(), bytes.begin());
  HeardMad heard{.mad = Mad::of(bytes), .fault = std::move(decoded.fault)};
  if (!heard.fault.empty()) return heard;
  const bool is_datagram = packet.service == scripts::WireService::kUd && packet.name() == "SEND_ONLY";
  if (!is_datagram) heard.fault = "not a UD SEND_ONLY (fact 44)";
  if (packet.qkey != kManagementQkey) heard.fault = "Q_Key is not 0x80010000 (fact 44)";
  if (packet.src != kManagementQp) heard.fault = "not from queue pair 1 (fact 44)";
  if (packet.pkey != kDefaultPkey) heard.fault = "P_Key is not 0xffff (fact 14)";
  return heard;
}

}  // namespace urnic::conform::connections
