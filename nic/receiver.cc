#include "nic/receiver.h"

#include <cstdint>

#include "transport/qp_state.h"
#include "transport/wire/packet.h"

namespace urnic::nic {

using transport::Counter;
using transport::QpNumber;
using transport::Time;
using transport::wire::Frame;
using transport::wire::Gid;
using transport::wire::Packet;
using transport::wire::ParseError;
using transport::wire::Service;

namespace {

constexpr QpNumber kManagementQp{1};

/// Our P_Key table holds 0xffff, a full member: whoever has the same low 15 bits may talk to us (fact 14).
bool is_our_partition(std::uint16_t pkey) {
  constexpr std::uint16_t kKeyMask = 0x7fff;
  return (pkey & kKeyMask) == kKeyMask;
}

Service service_of(QpType type) {
  switch (type) {
    case QpType::kRc:
      return Service::kRc;
  }
  return Service::kRc;
}

}  // namespace

void Receiver::on_frame(std::span<const std::byte> bytes, Time now) {
  const auto parsed = transport::wire::parse_frame(bytes);
  if (!parsed) {
    const bool may_be_neighbor_frame =
        parsed.error() == ParseError::kNotIp || parsed.error() == ParseError::kNotUdp;
    if (may_be_neighbor_frame && around_.neighbors.on_frame(bytes, now)) return;
    return around_.drops.add(parsed.error());
  }
  const Frame& frame = parsed.value();
  const auto packet = transport::wire::parse_packet(frame.ib);
  if (!packet) return around_.drops.add(packet.error());
  if (frame.ethernet.destination != around_.config.mac) return drop(DeviceCounter::kWrongMac);
  if (!around_.gids.index_of(frame.destination_gid())) return drop(DeviceCounter::kWrongAddress);
  if (!frame.icrc_ok()) return drop(DeviceCounter::kBadIcrc);
  on_packet(packet.value(), frame, now);
}

/// From here on the packet is what its sender wrote.
void Receiver::on_packet(const Packet& packet, const Frame& frame, Time now) {
  QueuePair* const qp = around_.queue_pairs.find(packet.bth.destination_qp);
  if (qp == nullptr) return on_packet_for_nobody(packet, frame, now);
  if (!is_our_partition(packet.bth.pkey)) return drop(DeviceCounter::kBadPkey);

  const Service service = transport::wire::service(packet.bth.opcode);
  if (service == Service::kCnp) return drop(DeviceCounter::kCongestionNotification);
  if (service != service_of(qp->attributes().type)) return drop(DeviceCounter::kWrongService);
  if (!can_receive(qp->endpoint().state())) return drop(DeviceCounter::kWrongState);

  const Gid source = frame.source_gid();
  const bool is_from_peer =
      source == qp->path().destination() && frame.destination_gid() == qp->path().source();
  if (!is_from_peer) return drop(DeviceCounter::kWrongPeer);

  around_.counters.add(Counter::kReceivedPackets);
  around_.counters.add(Counter::kReceivedBytes, frame.used_bytes);
  const PeerMac& known = qp->peer_mac();
  if (!known.is_good(around_.neighbors.generation()) || known.mac != frame.ethernet.source) {
    around_.neighbors.learn(source, frame.ethernet.source, now);
  }
  qp->on_packet(packet, now);
  around_.scheduler.wake(*qp);
}

void Receiver::on_packet_for_nobody(const Packet& packet, const Frame& frame, Time now) {
  // The connection manager's messages will go from here.
  if (packet.bth.destination_qp == kManagementQp) return drop(DeviceCounter::kManagement);
  const bool is_repeat =
      is_our_partition(packet.bth.pkey) &&
      around_.tombstones.is_repeat(packet, frame.source_gid(), frame.destination_gid(), now);
  if (!is_repeat) return drop(DeviceCounter::kUnknownQp);
  around_.transmitter.acknowledge_again(packet.bth.destination_qp, frame.ethernet.source, now);
}

}  // namespace urnic::nic
