// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/management_frame.h"

#include <cassert>
#include <cstring>

#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

namespace urnic::nic {

using transport::wire::Packet;

std::size_t write_management_frame(const cm::OutgoingMad& mad, const LinkSource& from,
                                   const transport::wire::Mac& station, transport::Psn psn,
                                   std::span<std::byte> frame) {
  const cm::MadPath& to = mad.path;
  Path path = Path::make({.destination = to.destination,
                          .hop_limit = to.hop_limit,
                          .traffic_class = to.traffic_class,
                          .service_level = to.service_level},
                         {.gid = to.source}, from, kManagementQp, kManagementQp);
  path.use_source_port(datagram_source_port(kManagementQp));
  const Packet packet{
      .bth = {.opcode = transport::wire::Opcode::kUdSendOnly, .destination_qp = kManagementQp, .psn = psn},
      .deth = {.qkey = kManagementQkey, .source_qp = kManagementQp}};
  const std::span<std::byte> room = frame.subspan(path.header_bytes());
  const std::uint32_t headers = emit_headers(packet, room);
  std::memcpy(room.data() + headers, mad.bytes.data(), mad.bytes.size());
  return path.encapsulate(frame, {.size = headers + static_cast<std::uint32_t>(mad.bytes.size())}, station);
}

}  // namespace urnic::nic
