// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/receiver.h"

#include <cstdint>
#include <optional>
#include <variant>

#include "nic/cm/message.h"
#include "nic/diagnostics/failure_log.h"
#include "nic/port/run_frames.h"
#include "nic/port/vlan.h"
#include "nic/queues/queue_pair.h"
#include "nic/raw/raw_packet_endpoint.h"
#include "transport/qp_state.h"
#include "transport/wire/encapsulation.h"
#include "transport/wire/icrc.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/packet.h"

namespace urnic::nic {

using transport::Counter;
using transport::QpNumber;
using transport::Time;
using transport::wire::Encapsulation;
using transport::wire::Frame;
using transport::wire::Gid;
using transport::wire::Mac;
using transport::wire::Packet;
using transport::wire::ParseError;
using transport::wire::Run;
using transport::wire::Service;

namespace {

/// Our P_Key table holds 0xffff, a full member: a peer with the same low 15 bits may talk to us (fact 14).
bool is_our_partition(std::uint16_t pkey) {
  constexpr std::uint16_t kKeyMask = 0x7fff;
  return (pkey & kKeyMask) == kKeyMask;
}

/// ECN "congestion experienced" (RFC 3168): the low two bits are both set. It is about IP: no switch looks
/// for it in a GRH.
bool is_congestion_marked(const Frame& frame) {
  if (frame.encapsulation == Encapsulation::kRoceV1) return false;
  const auto* const ipv4 = std::get_if<transport::wire::Ipv4>(&frame.ip);
  const std::uint8_t traffic_class =
      ipv4 != nullptr ? ipv4->tos : std::get<transport::wire::Ipv6>(frame.ip).traffic_class;
  return (traffic_class & 3u) == 3u;
}

/// Why a frame does not come from the queue pair's peer to the queue pair's address (fact 12), or not in the
/// way in which the queue pair sends; nothing if it does. Datagrams may come from any, and both ways.
std::optional<DeviceCounter> objection(const QueuePair& qp, const Frame& frame) {
  if (!is_connected(qp.attributes().type)) return std::nullopt;
  if (!qp.path().joins_ends_of(frame)) return DeviceCounter::kWrongPeer;
  if (frame.encapsulation != qp.path().encapsulation()) return DeviceCounter::kWrongEncapsulation;
  return std::nullopt;
}

/// Whose receive a frame takes that a flow rule gives to `qp`: its own, or a work queue's.
QueuePair& receiver_of(QueuePair& qp, std::span<const std::byte> frame) {
  const Rss& rss = qp.attributes().rss;
  return rss.table != nullptr ? rss.queue_for(frame) : qp;
}

}  // namespace

Receiver::Receiver(const Dependencies& dependencies)
    : deps_(dependencies),
      identifications_(deps_.config.medium == Medium::kIp
                           ? std::make_unique<transport::wire::IcrcIdentification>()
                           : nullptr) {}

void Receiver::on_frame(const ReceivedFrame& received, Time now) {
  std::span<const std::byte> bytes = received;
  if (!deps_.flows.is_empty()) [[unlikely]] {
    if (received.shape().is_run()) return on_each_frame(received, now);
    if (!received.has_icrc()) bytes = whole(received);
    if (apply_flow_rules(bytes, now)) return;
  }
  const bool is_ethernet = deps_.config.medium == Medium::kEthernet;
  auto parsed = is_ethernet ? transport::wire::parse_frame(bytes) : transport::wire::parse_ip_packet(bytes);
  if (!parsed) {
    const bool may_be_link_frame =
        is_ethernet && (parsed.error() == ParseError::kNotIp || parsed.error() == ParseError::kNotUdp);
    if (may_be_link_frame && (deps_.neighbors.on_frame(bytes, now) || deps_.reports.on_frame(bytes, now))) {
      return;
    }
    return drop_or_default_rule(bytes, now, parsed.error());
  }
  Frame& frame = parsed.value();
  frame.has_icrc = received.has_icrc();
  Packet packet;
  if (const auto error = packet.read(frame.ib)) return drop_or_default_rule(bytes, now, *error);
  // To a NIC without such addresses it is an EtherType that it does not know.
  if (frame.encapsulation == Encapsulation::kRoceV1 && !deps_.gids.has_roce_v1()) {
    return drop_or_default_rule(bytes, now, ParseError::kNotIp);
  }
  // In front of UDP, or the GRH; IPv4 options, if any, are not part of it.
  packet.network_header = frame.outer_headers.first(frame.is_ipv4() ? transport::wire::Ipv4::kMinBytes
                                                                    : transport::wire::Ipv6::kBytes);
  if (is_ethernet && !is_on_vlan(frame.ethernet, deps_.config.vlan)) {
    return drop_or_default_rule(bytes, now, DeviceCounter::kWrongVlan);
  }
  const Gid destination = frame.destination_gid();
  const bool is_for_group = is_multicast(destination);
  const Mac expected_mac = is_for_group ? multicast_mac_of(destination) : deps_.config.mac;
  if (is_ethernet && frame.ethernet.destination != expected_mac) {
    return drop_or_default_rule(bytes, now, DeviceCounter::kWrongMac);
  }
  const bool is_ours = is_for_group ? deps_.groups.contains(destination) : deps_.gids.contains(destination);
  if (!is_ours) return drop_or_default_rule(bytes, now, DeviceCounter::kWrongAddress);
  if (received.shape().is_run()) {
    if (!Run::can_hold(packet.bth.opcode)) {
      return drop_or_default_rule(bytes, now, ParseError::kUnexpectedPayload);
    }
    return on_run({packet, received.shape().mtu}, frame, now);
  }
  if (is_for_group) return on_packet_for_group(packet, frame, now);
  on_packet(packet, frame, now);
}

/// In one step if nothing about it is unusual, otherwise packet by packet.
void Receiver::on_run(const Run& run, const Frame& frame, Time now) {
  if (take_run(run, frame, now)) return;
  Frame each = frame;
  for (std::uint32_t i = 0; i < run.packets(); ++i) {
    const Packet packet = run.packet(i);
    each.used_bytes = frame.used_bytes - frame.ib.size() + transport::wire::header_bytes(packet.bth.opcode) +
                      packet.payload.size() + packet.bth.pad_count;
    on_packet(packet, each, now);
  }
}

/// The same checks as in on_packet(), without the ICRC's: a run has none.
bool Receiver::take_run(const Run& run, const Frame& frame, Time now) {
  const Packet& whole = run.whole();
  QueuePair* const qp = deps_.queue_pairs.find(whole.bth.destination_qp);
  const bool is_usual = qp != nullptr && is_connected(qp->attributes().type) && !objection(*qp, frame) &&
                        is_our_partition(whole.bth.pkey) && !is_congestion_marked(frame) &&
                        transport::wire::service(whole.bth.opcode) == service_of(qp->attributes().type);
  if (!is_usual || !qp->on_run(run, now)) return false;
  learn_peer(*qp, frame.ethernet.source, now);
  const std::size_t around = frame.used_bytes - frame.ib.size();
  deps_.counters.add(Counter::kReceivedPackets, run.packets());
  deps_.counters.add(
      Counter::kReceivedBytes,
      run.packets() * around + Run::bytes_of_packets(whole.bth.opcode, frame.ib.size(), run.packets()));
  if (!frame.is_ipv4()) deps_.counters.add(Counter::kReceivedIpv6Packets, run.packets());
  deps_.scheduler.wake(*qp);
  return true;
}

/// Rules are about frames: they see those that a wire would have carried.
void Receiver::on_each_frame(const ReceivedFrame& received, Time now) {
  const RunFrames frames(received, received.shape().mtu);
  if (frames.count() == 0) return drop(DeviceCounter::kUnexpectedPayload);
  for (std::uint32_t i = 0; i < frames.count(); ++i) {
    frames.write(i, whole_);
    on_frame(whole_, now);
  }
}

/// With the ICRC that its sender has left out, as on a wire. What is no RoCE packet has none.
std::span<const std::byte> Receiver::whole(std::span<const std::byte> bytes) {
  const bool is_ethernet = deps_.config.medium == Medium::kEthernet;
  const auto parsed =
      is_ethernet ? transport::wire::parse_frame(bytes) : transport::wire::parse_ip_packet(bytes);
  if (!parsed) return bytes;
  const std::size_t icrc_at = parsed.value().used_bytes - transport::wire::kIcrcBytes;
  whole_.assign(bytes.begin(), bytes.end());
  transport::wire::store_icrc(parsed.value().expected_icrc(), std::span(whole_).subspan(icrc_at));
  return whole_;
}

bool Receiver::apply_flow_rules(std::span<const std::byte> frame, Time now) {
  const FlowTable::Verdict verdict = deps_.flows.steer(frame);
  deliver_raw(verdict.receivers, frame, now);
  return verdict.is_trapped;
}

void Receiver::deliver_raw(std::span<const QpNumber> receivers, std::span<const std::byte> frame, Time now) {
  for (const QpNumber number : receivers) {
    QueuePair& qp = receiver_of(*deps_.queue_pairs.find(number), frame);  // its rules end before it does
    deps_.drops.add(DeviceCounter::kSteered);
    qp.endpoint().on_packet(as_packet(frame), now);
    deps_.scheduler.wake(qp);
  }
}

/// The frame is nothing that we speak, or not for us: default flow rules may want it.
template <typename Reason>
void Receiver::drop_or_default_rule(std::span<const std::byte> frame, Time now, Reason reason) {
  if (!deps_.flows.is_empty()) {
    const auto receivers = deps_.flows.take_unclaimed(frame);
    if (!receivers.empty()) return deliver_raw(receivers, frame, now);
  }
  deps_.drops.add(reason);
}

/// The ICRC comes last, as it reads the whole packet: until then each field may be wrong, and only counters
/// change.
bool Receiver::is_intact(const Frame& frame) {
  if (!frame.has_icrc) return true;
  const std::uint32_t difference = frame.expected_icrc() ^ frame.icrc;
  if (difference == 0 || is_of_another_identification(frame, difference)) return true;
  drop(DeviceCounter::kBadIcrc);
  return false;
}

/// Whether the IPv4 header, which was taken off, had another identification. The ICRC covers the
/// identification.
bool Receiver::is_of_another_identification(const Frame& frame, std::uint32_t icrc_difference) {
  if (identifications_ == nullptr || !frame.is_ipv4()) return false;
  const std::size_t header_bytes = std::get<transport::wire::Ipv4>(frame.ip).header_bytes();
  return identifications_
      ->find(icrc_difference,
             transport::wire::IcrcIdentification::bytes_behind(header_bytes, frame.ib.size()))
      .has_value();
}

void Receiver::on_packet(const Packet& packet, const Frame& frame, Time now) {
  QueuePair* const qp = deps_.queue_pairs.find(packet.bth.destination_qp);
  if (qp == nullptr) return on_packet_without_qp(packet, frame, now);
  if (transport::wire::service(packet.bth.opcode) == Service::kCnp) {
    return on_congestion_notification(*qp, packet, frame, now);
  }
  if (!is_for(*qp, packet)) return;
  if (const auto reason = objection(*qp, frame)) {
    if (deps_.failures != nullptr) explain_wrong_peer(*qp, frame, now);
    return drop(*reason);
  }
  if (!is_intact(frame)) return;
  if (is_connected(qp->attributes().type)) learn_peer(*qp, frame.ethernet.source, now);
  deliver(*qp, packet, frame, now);
}

/// The peer may have another address than it has told, or a translator has changed it; or it has chosen the
/// same address with the other encapsulation.
void Receiver::explain_wrong_peer(const QueuePair& qp, const Frame& frame, Time now) {
  if (frame.destination_gid() != qp.path().source()) return;
  if (qp.path().joins_ends_of(frame)) {
    return deps_.failures->add_otherwise_encapsulated(qp.number(), qp.path().destination(),
                                                      frame.encapsulation, now);
  }
  deps_.failures->add_translated(qp.number(), qp.path().destination(), frame.source_gid(), now);
}

/// A REQ tells its sender's address. Where the packet comes from another one, that is why its ICRC is wrong.
void Receiver::explain_damaged_request(const Packet& packet, const Frame& frame, Time now) {
  if (packet.payload.size() != cm::kMadBytes) return;
  const auto mad = cm::parse(packet.payload);
  const auto* const read = std::get_if<cm::Mad>(&mad);
  const auto* const req = read != nullptr ? std::get_if<cm::Req>(&read->message) : nullptr;
  if (req == nullptr || req->path.local_gid == frame.source_gid()) return;
  deps_.failures->add_translated({}, req->path.local_gid, frame.source_gid(), now);
}

/// A CNP for a queue pair in whatever state, as one may come late. Datagrams are sent without a controller.
void Receiver::on_congestion_notification(QueuePair& qp, const Packet& packet, const Frame& frame, Time now) {
  if (!is_our_partition(packet.bth.pkey)) return drop(DeviceCounter::kBadPkey);
  if (const auto reason = objection(qp, frame)) return drop(*reason);
  if (!is_intact(frame)) return;
  const bool is_obeyed = qp.endpoint().on_congestion_notification(now);
  deps_.drops.add(is_obeyed ? DeviceCounter::kCnpHandled : DeviceCounter::kCnpIgnored);
}

/// Notes the MAC of a connected queue pair's peer. Datagrams teach nothing: any station may send one under
/// any address, and the Q_Key was not checked yet.
void Receiver::learn_peer(QueuePair& qp, const Mac& mac, Time now) {
  const PeerMac& known = qp.peer_mac();
  if (known.is_good(deps_.neighbors.generation()) && known.mac == mac) return;
  deps_.neighbors.learn(qp.path().destination(), mac, now);
}

/// Whether the queue pair takes such a packet from any sender; counts why it does not.
bool Receiver::is_for(const QueuePair& qp, const Packet& packet) {
  const Service service = transport::wire::service(packet.bth.opcode);
  const auto refused = [this](DeviceCounter reason) {
    drop(reason);
    return false;
  };
  if (!is_our_partition(packet.bth.pkey)) return refused(DeviceCounter::kBadPkey);
  if (service != service_of(qp.attributes().type)) return refused(DeviceCounter::kWrongService);
  if (!can_receive(qp.endpoint().state())) return refused(DeviceCounter::kWrongState);
  return true;
}

/// Every member gets it, as if it were alone; our own members, too, when one of us sends it, except a sender
/// that does not want to.
void Receiver::on_packet_for_group(const Packet& packet, const Frame& frame, Time now) {
  if (packet.bth.destination_qp != kMulticastQp) return drop(DeviceCounter::kUnknownQp);
  if (!is_intact(frame)) return;
  const bool is_ours = deps_.gids.contains(frame.source_gid());
  deps_.groups.for_each(frame.destination_gid(), [&](QueuePair& qp) {
    const bool is_own = is_ours && packet.deth.source_qp == qp.number();
    if (is_own && !qp.attributes().hears_itself) return;
    if (is_for(qp, packet)) deliver(qp, packet, frame, now);
  });
}

void Receiver::deliver(QueuePair& qp, const Packet& packet, const Frame& frame, Time now) {
  if (is_congestion_marked(frame)) [[unlikely]] {
    deps_.drops.add(DeviceCounter::kCongestionMarked);
    if (is_connected(qp.attributes().type)) {
      deps_.transmitter.notify_of_congestion(qp, frame.ethernet.source, now);
    }
  }
  deps_.counters.add(Counter::kReceivedPackets);
  deps_.counters.add(Counter::kReceivedBytes, frame.used_bytes);
  if (!frame.is_ipv4()) deps_.counters.add(Counter::kReceivedIpv6Packets);
  qp.on_packet(packet, now);
  deps_.scheduler.wake(qp);
}

void Receiver::on_packet_without_qp(const Packet& packet, const Frame& frame, Time now) {
  if (packet.bth.destination_qp == kManagementQp) {
    if (!is_our_partition(packet.bth.pkey)) return drop(DeviceCounter::kBadPkey);
    // Connection managers talk, and connect, by RoCE v2.
    if (frame.encapsulation != Encapsulation::kRoceV2) return drop(DeviceCounter::kWrongEncapsulation);
    if (is_intact(frame)) return deps_.gsi.on_packet(packet, frame, now);
    if (deps_.failures != nullptr) explain_damaged_request(packet, frame, now);
    return;
  }
  const bool is_repeat = is_our_partition(packet.bth.pkey) && deps_.time_wait.is_repeat(packet, frame, now);
  if (!is_intact(frame)) return;
  if (!is_repeat) {
    const bool is_stray = deps_.failures != nullptr && packet.info->is_request;
    if (is_stray) deps_.failures->add_stray(packet.bth.destination_qp, frame.source_gid(), now);
    return drop(DeviceCounter::kUnknownQp);
  }
  deps_.transmitter.acknowledge_again(packet.bth.destination_qp, frame.ethernet.source, now);
}

}  // namespace urnic::nic
