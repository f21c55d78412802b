// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/notification_point.h"

#include <cassert>
#include <chrono>

#include "transport/wire/packet.h"

namespace urnic::nic {

using transport::Time;
using transport::wire::Gid;
using transport::wire::Packet;

bool NotificationPoint::is_due(const QueuePair& qp, Time now) const {
  const auto& parameters = config_.congestion_notifications;
  if (parameters.enable == 0) return false;
  const bool is_per_address = parameters.per_address != 0;
  return now >= (is_per_address ? next_of_address_[place_of(qp.path().destination())] : qp.next_cnp());
}

void NotificationPoint::on_sent(QueuePair& qp, Time now) {
  const auto& parameters = config_.congestion_notifications;
  const Time next = now + std::chrono::microseconds(parameters.min_time_between_cnps);
  qp.expect_cnp(next);
  next_of_address_[place_of(qp.path().destination())] = next;
}

std::size_t NotificationPoint::write(QueuePair& qp, const transport::wire::Mac& to,
                                     std::span<std::byte> frame) const {
  assert(frame.size() >= kMaxFrameBytes);
  constexpr std::uint8_t kEct0 = 2;  // as a ConnectX-4 Lx marks its CNPs (fact 49)
  const auto& parameters = config_.congestion_notifications;
  const transport::QpNumber peer = qp.endpoint().config().remote_qp;
  const AddressVector address{
      .destination = qp.path().destination(),
      .traffic_class = static_cast<std::uint8_t>(parameters.cnp_dscp << 2 | kEct0),
      .service_level = static_cast<std::uint8_t>(parameters.cnp_802p_prio),
  };
  Path path = Path::make(address, qp.path().source_entry(), config_.link_source(), qp.number(), peer);
  path.take_identification_of(qp.path());
  const Packet packet{
      .bth = {
          .opcode = transport::wire::Opcode::kCnp, .migrated = false, .becn = true, .destination_qp = peer}};
  const std::uint32_t size = emit_headers(packet, frame.subspan(path.header_bytes()));
  return path.encapsulate(frame, {.size = size}, to);
}

std::size_t NotificationPoint::place_of(const Gid& peer) {
  std::size_t sum = 0;
  for (const std::uint8_t octet : peer.octets) sum = sum * 31 + octet;
  return sum % kPlaces;
}

}  // namespace urnic::nic
