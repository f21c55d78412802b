#include "nic/engine/tombstones.h"

#include <cassert>

#include "transport/rc/syndrome.h"

namespace urnic::nic {

using transport::QpNumber;
using transport::Time;
using transport::to_integer;
using transport::wire::Gid;
using transport::wire::Operation;
using transport::wire::Packet;

void Tombstones::add(const Tombstone& tombstone, Time now) {
  while (!order_.empty() && (order_.front().until <= now || order_.size() >= kMax)) {
    entries_.erase(to_integer(order_.front().number));
    order_.pop_front();
  }
  entries_.insert_or_assign(to_integer(tombstone.number),
                            Entry{.tombstone = tombstone, .until = now + kLifetime});
  order_.push_back({.number = tombstone.number, .until = now + kLifetime});
}

bool Tombstones::is_repeat(const Packet& packet, const Gid& source, const Gid& destination, Time now) const {
  const auto found = entries_.find(to_integer(packet.bth.destination_qp));
  if (found == entries_.end() || found->second.until <= now) return false;
  const Tombstone& tombstone = found->second.tombstone;
  if (tombstone.path.destination() != source || tombstone.path.source() != destination) return false;

  const Operation operation = packet.info->operation;
  const bool can_be_acknowledged = operation == Operation::kSend || operation == Operation::kWrite;
  return can_be_acknowledged && service(packet.bth.opcode) == tombstone.service &&
         distance(tombstone.expected, packet.bth.psn) < 0;
}

// As a responder answers a duplicate: with the newest PSN (fact 25) that is not a READ's or an atomic's. The peer
// would take an ACK of those for their response.
std::size_t Tombstones::acknowledge(QpNumber number, const transport::wire::Mac& to,
                                    std::span<std::byte> frame) {
  assert(frame.size() >= kMaxFrameBytes);
  Tombstone& tombstone = entries_.at(to_integer(number)).tombstone;
  const Packet packet{
      .bth = {.opcode = with_service(transport::wire::Opcode::kRcAcknowledge, tombstone.service),
              .destination_qp = tombstone.peer,
              .psn = tombstone.acknowledged},
      .aeth = {.syndrome = transport::kAckSyndrome, .msn = tombstone.msn}};
  const std::size_t size = emit_headers(packet, frame.subspan(tombstone.path.header_bytes()));
  return tombstone.path.seal(frame, size, to);
}

}  // namespace urnic::nic
