// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/time_wait.h"

#include <cassert>

#include "transport/rc/syndrome.h"

namespace urnic::nic {

using transport::QpNumber;
using transport::Time;
using transport::to_integer;
using transport::wire::Frame;
using transport::wire::Operation;
using transport::wire::Packet;

void TimeWait::add(const DestroyedQp& destroyed, Time now) {
  while (!order_.empty() && (order_.front().until <= now || order_.size() >= kMax)) {
    entries_.erase(to_integer(order_.front().number));
    order_.pop_front();
  }
  entries_.insert_or_assign(to_integer(destroyed.number),
                            Entry{.destroyed = destroyed, .until = now + kLifetime});
  order_.push_back({.number = destroyed.number, .until = now + kLifetime});
}

bool TimeWait::is_repeat(const Packet& packet, const Frame& frame, Time now) const {
  const auto found = entries_.find(to_integer(packet.bth.destination_qp));
  if (found == entries_.end() || found->second.until <= now) return false;
  const DestroyedQp& destroyed = found->second.destroyed;
  const Path& path = destroyed.path;
  if (!path.joins_ends_of(frame) || frame.encapsulation != path.encapsulation()) return false;

  const Operation operation = packet.info->operation;
  const bool can_be_acknowledged = operation == Operation::kSend || operation == Operation::kWrite;
  return can_be_acknowledged && service(packet.bth.opcode) == destroyed.service &&
         distance(destroyed.expected, packet.bth.psn) < 0;
}

// As a responder answers a duplicate: with the newest PSN (fact 25) that is not a READ's or an atomic's. The
// peer would take an ACK of those for their response.
std::size_t TimeWait::acknowledge(QpNumber number, const transport::wire::Mac& to,
                                  std::span<std::byte> frame) {
  assert(frame.size() >= kMaxFrameBytes);
  has_acknowledged_ = true;
  DestroyedQp& destroyed = entries_.at(to_integer(number)).destroyed;
  const Packet packet{
      .bth = {.opcode = with_service(transport::wire::Opcode::kRcAcknowledge, destroyed.service),
              .destination_qp = destroyed.peer,
              .psn = destroyed.acknowledged},
      .aeth = {.syndrome = transport::kAckSyndrome, .msn = destroyed.msn}};
  const std::uint32_t size = emit_headers(packet, frame.subspan(destroyed.path.header_bytes()));
  return destroyed.path.encapsulate(frame, {.size = size}, to);
}

}  // namespace urnic::nic
