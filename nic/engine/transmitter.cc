// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/transmitter.h"

#include <algorithm>
#include <cstring>

#include "nic/path/multicast_groups.h"
#include "nic/path/station.h"
#include "transport/qp_state.h"
#include "transport/wire/run.h"

namespace urnic::nic {

using transport::Counter;
using transport::QpState;
using transport::Time;
using transport::WrittenPacket;
using transport::wire::Mac;

bool Transmitter::run(Time now, Time heard_until) {
  is_blocked_ = has_frames_left_ = false;
  neighbors_.on_timeout(heard_until);
  bool worked = send_frames_of(neighbors_, now);
  worked |= send_frames_of(reports_, now);
  if (neighbor_generation_ != neighbors_.generation()) {
    neighbor_generation_ = neighbors_.generation();
    scheduler_.unpark();
  }
  if (scheduler_.count_full_ways() > 0) worked |= serve_full_ways(now);
  worked |= serve(Kind::kResponses, now);
  worked |= serve(Kind::kRequests, now);
  if (is_blocked_ || scheduler_.count_full_ways() > 0) drops_.add(DeviceCounter::kPortFull);
  return worked;
}

template <typename Machine>
bool Transmitter::send_frames_of(Machine& machine, Time now) {
  bool sent = false;
  for (std::size_t i = 0; i < kPacketsPerRound && machine.next_timeout() <= now; ++i) {
    const Room frame = port_->reserve_to(Mac::broadcast());
    if (frame.empty()) {
      has_frames_left_ = true;
      is_blocked_ |= frame.refusal() == Room::Refusal::kPort;
      break;
    }
    const std::size_t length = machine.poll_transmit(frame.bytes(), now);
    if (length == 0) break;
    send(length, now);
    sent = true;
  }
  return sent;
}

/// Those that wait for a way come before those that want to send there now. They have a share of the round of
/// their own: they do not keep the others waiting.
bool Transmitter::serve_full_ways(Time now) {
  Share share;
  for (std::size_t count = scheduler_.count_full_ways(); count > 0 && share.packets > 0; --count) {
    if (is_full_still(scheduler_.first_full_way(), share, now)) {
      scheduler_.keep_first_way();
    } else {
      scheduler_.reopen_first_way();
    }
  }
  return share.worked;
}

/// Gives turns to those that wait for the way, until it is full again.
bool Transmitter::is_full_still(FullWays::Way& way, Share& share, Time now) {
  while (!is_blocked_ && share.packets > 0) {
    QueuePair* const qp = scheduler_.next_on(way);
    if (qp == nullptr) return false;
    const bool responds = qp->endpoint().has_pending_response();
    const Turn turn = take_turn(*qp, responds ? Kind::kResponses : Kind::kRequests, share, now);
    if (turn.outcome != Outcome::kWayFull || turn.way != way.name) continue;
    scheduler_.wait_first_for(way, *qp);
    return true;
  }
  return is_blocked_;
}

/// Gives turns until no queue pair is left or the round's share is used up. Responses and requests have
/// shares of their own, so that neither keeps the other waiting forever.
bool Transmitter::serve(Kind kind, Time now) {
  Share share;
  while (share.packets > 0) {
    QueuePair* const qp = kind == Kind::kResponses ? scheduler_.next_responding() : scheduler_.next_sending();
    if (qp == nullptr) break;
    if (is_blocked_ && !Scheduler::is_only_flushed(*qp)) {
      scheduler_.put_back_first(*qp);
      break;
    }
    take_turn(*qp, kind, share, now);
  }
  return share.worked;
}

/// Afterwards the queue pair is where it belongs.
Transmitter::Turn Transmitter::take_turn(QueuePair& qp, Kind kind, Share& share, Time now) {
  const bool is_raw = is_for_frames(qp.attributes().type);
  Route route;
  if (!is_raw && !find_route(qp, route, now)) {
    scheduler_.park(qp);
    share.worked = true;  // there is a neighbor to ask for, in the next round
    return {};
  }
  std::int32_t& turn_bytes = qp.schedule().turn_bytes;
  std::size_t most = share.packets;
  if (kind == Kind::kResponses) most = std::min(most, kPacketsPerResponse);
  if (turn_bytes <= 0) turn_bytes += kBytesPerTurn;
  const Turn turn = is_raw ? give_raw_turn(qp, most, now) : give_turn(qp, route, most, now);
  share.packets -= std::clamp<std::size_t>(turn.packets, 1, share.packets);

  scheduler_.expect_timeout(qp);
  switch (turn.outcome) {
    case Outcome::kPortFull:
      is_blocked_ = true;
      scheduler_.put_back_first(qp);
      break;
    case Outcome::kWayFull:
      scheduler_.wait_for(turn.way, qp);
      break;
    case Outcome::kDone:
      turn_bytes = std::min(turn_bytes, 0);
      if (qp.note_state()) scheduler_.put_back(qp);
      break;
    case Outcome::kMoreToSend:
      kind == Kind::kRequests&& turn_bytes > 0 ? scheduler_.put_back_in_turn(qp) : scheduler_.put_back(qp);
      break;
  }
  const bool found_no_room = turn.outcome == Outcome::kPortFull || turn.outcome == Outcome::kWayFull;
  share.worked |= turn.packets > 0 || !found_no_room;
  return turn;
}

/// Whether `qp` cannot go on, because there is no room for it; then the turn says so. In ERR there is work to
/// be flushed, and that must wait for no port. When a station has taken nothing for long, what may be lost
/// does not wait for it: datagrams, which would keep those to other stations waiting, and packets that an ACK
/// timeout watches, which would not run otherwise.
bool Transmitter::must_wait(const QueuePair& qp, const Room& room, const Mac& destination, Turn& turn) {
  if (qp.endpoint().state() == QpState::kError) return false;
  if (room.refusal() == Room::Refusal::kPort) {
    turn.outcome = Outcome::kPortFull;
    return true;
  }
  const QpType type = qp.attributes().type;
  const bool is_watched = !is_unreliable(type) && qp.endpoint().config().ack_timeout != 0;
  const bool may_be_lost = !is_for_frames(type) && (!is_connected(type) || is_watched);
  if (room.refusal() == Room::Refusal::kStalled && may_be_lost) return false;
  turn.outcome = Outcome::kWayFull;
  turn.way = room.refusal() == Room::Refusal::kShared ? Mac::broadcast() : destination;
  return true;
}

/// Finds the path and the peer's MAC. False while the NIC asks for the MAC and the queue pair has to wait.
/// When the peer does not answer, the queue pair goes on as if it did, so that its retries run out, or its
/// datagrams are lost.
bool Transmitter::find_route(QueuePair& qp, Route& route, Time now) {
  if (is_connected(qp.attributes().type)) {
    if (qp.path().header_bytes() == 0) return true;
    return resolve(qp.path(), qp.peer_mac(), route, now) || qp.endpoint().state() == QpState::kError;
  }
  route.is_for_datagrams = true;
  const transport::Destination to = qp.endpoint().next_destination();
  route.address = to.address;
  AddressHandles::Handle* const handle = address_handles_.find(route.address);
  if (handle == nullptr) return true;
  if (!handle->path.has_flow_label()) handle->path.use_source_port(datagram_source_port(qp.number()));
  if (!resolve(handle->path, handle->peer_mac, route, now)) return false;
  route.has_station = handle->is_on_this_host;
  if (route.has_station) route.station = station_of(to.qp);
  route.mac = route.station.value_or(route.mac);
  return true;
}

/// Whether the next packet goes the same way. All packets of a connected queue pair do.
bool Transmitter::leads_to_next(const Route& route, const QueuePair& qp) {
  if (!route.is_for_datagrams) return true;
  const transport::Destination next = qp.endpoint().next_destination();
  return next.address == route.address && (!route.has_station || station_of(next.qp) == route.station);
}

bool Transmitter::resolve(Path& path, PeerMac& known, Route& route, Time now) {
  route.path = &path;
  if (is_multicast(path.destination())) {
    route.is_reachable = true;
    route.mac = multicast_mac_of(path.destination());
    return true;
  }
  if (known.is_good(neighbors_.generation())) {
    route.is_reachable = true;
    route.mac = known.mac;
    return true;
  }
  const NeighborCache::Lookup lookup = neighbors_.resolve(path.destination(), now);
  route.is_reachable = lookup.state == NeighborCache::State::kReachable;
  route.mac = path.local_station().value_or(lookup.mac);
  known = {.is_known = route.is_reachable, .generation = neighbors_.generation(), .mac = route.mac};
  return lookup.state != NeighborCache::State::kProbing && lookup.state != NeighborCache::State::kUnknown;
}

Transmitter::Turn Transmitter::give_turn(QueuePair& qp, const Route& route, std::size_t most, Time now) {
  Turn turn{.outcome = Outcome::kMoreToSend};
  const std::int32_t& turn_bytes = qp.schedule().turn_bytes;
  const std::size_t header_bytes = route.path != nullptr ? route.path->header_bytes() : 0;
  while (turn.packets < most && turn_bytes > 0) {
    if (!leads_to_next(route, qp)) break;
    const Room reserved = port_->reserve_to(route.mac);
    if (reserved.empty() && must_wait(qp, reserved, route.mac, turn)) break;
    const std::span<std::byte> frame = reserved.bytes();
    const std::size_t overhead = header_bytes + Path::kIcrcBytes;
    const bool can_send = route.is_reachable && frame.size() > overhead;
    const std::span<std::byte> room =
        can_send ? frame.subspan(header_bytes, frame.size() - overhead) : std::span<std::byte>();

    memory_.leave_out_crc(reserved.may_lack_icrc());
    const bool may_send_run = can_send && may_be_run(qp, reserved, header_bytes);
    const WrittenPacket packet =
        may_send_run
            ? qp.endpoint().poll_run(reserved.run().subspan(header_bytes, reserved.run().size() - overhead),
                                     static_cast<std::uint32_t>(most - turn.packets), now)
            : poll_into(qp, room, now);
    if (packet.size == 0) {
      turn.outcome = Outcome::kDone;
      break;
    }
    turn.packets += packet.packets;
    if (packet.packets > 1) {
      send_run(qp, packet, reserved, route.mac, now);
      continue;
    }
    if (QpMonitor* const monitor = qp.monitor()) [[unlikely]] {
      const bool is_in_scratch = packet.size > room.size();
      const std::span<const std::byte> written = is_in_scratch ? std::span<const std::byte>(scratch_) : room;
      monitor->on_sent(written.first(packet.size), route.is_reachable, now);
    }
    charge(qp, header_bytes + packet.size);
    if (!route.is_reachable) {
      drops_.add(DeviceCounter::kNoNeighbor);
    } else if (frame.empty()) {
      drops_.add(DeviceCounter::kStalled);
    } else if (packet.size > room.size()) {
      drops_.add(DeviceCounter::kTooLong);
    } else {
      send_packet(*route.path, packet, reserved, route.mac, now);
    }
  }
  return turn;
}

/// `bytes` in so many frames.
void Transmitter::charge(QueuePair& qp, std::size_t bytes, std::size_t frames) {
  qp.schedule().turn_bytes -= static_cast<std::int32_t>(std::max(bytes, frames * kLeastBytes));
}

/// Raw packets are frames already: they need no route and nothing around them.
Transmitter::Turn Transmitter::give_raw_turn(QueuePair& qp, std::size_t most, Time now) {
  Turn turn{.outcome = Outcome::kMoreToSend};
  const std::int32_t& turn_bytes = qp.schedule().turn_bytes;
  for (; turn.packets < most && turn_bytes > 0; ++turn.packets) {
    const Room room = port_->reserve_to(Mac::broadcast());
    if (room.empty() && must_wait(qp, room, Mac::broadcast(), turn)) break;
    const std::size_t longest = std::min(room.size(), port_->max_frame_bytes());
    const std::size_t size = qp.endpoint().poll_transmit(room.bytes().first(longest), now).size;
    if (size == 0) {
      turn.outcome = Outcome::kDone;
      break;
    }
    charge(qp, size);
    send(size, now);
  }
  return turn;
}

/// Whether the port takes runs of two packets at least, and every single packet. A monitor looks at packets.
bool Transmitter::may_be_run(const QueuePair& qp, const Room& room, std::size_t header_bytes) {
  if (room.run().empty()) return false;
  const std::size_t mtu = bytes(qp.endpoint().config().path_mtu);
  const std::size_t overhead = header_bytes + transport::kMaxPacketHeaderBytes + Path::kIcrcBytes;
  return room.size() >= overhead + mtu && room.run().size() >= overhead + 2 * mtu && qp.monitor() == nullptr;
}

/// Polls the endpoint for a packet, into `room` if it is large enough for any packet, otherwise by way of a
/// buffer that is. The size may be more than fits: then nothing was written.
WrittenPacket Transmitter::poll_into(QueuePair& qp, std::span<std::byte> room, Time now) {
  const std::size_t largest = transport::kMaxPacketHeaderBytes + bytes(qp.endpoint().config().path_mtu);
  if (room.size() >= largest) return qp.endpoint().poll_transmit(room, now);
  const WrittenPacket packet = qp.endpoint().poll_transmit(scratch_, now);
  if (packet.size > 0 && packet.size <= room.size()) {
    std::memcpy(room.data(), scratch_.data(), packet.size);
  }
  return packet;
}

void Transmitter::acknowledge_again(transport::QpNumber destroyed, const Mac& to, Time now) {
  const Mac station = time_wait_.path_of(destroyed).local_station().value_or(to);
  const Room frame = port_->reserve_to(station);
  if (frame.empty()) return;
  drops_.add(DeviceCounter::kAnsweredAfterDestroy);
  send(time_wait_.acknowledge(destroyed, station, frame.bytes()), now);
}

void Transmitter::notify_of_congestion(QueuePair& qp, const Mac& to, Time now) {
  if (!notification_point_.is_due(qp, now)) return;
  const Mac station = qp.path().local_station().value_or(to);
  const Room frame = port_->reserve_to(station);
  if (frame.size() < NotificationPoint::kMaxFrameBytes) return;
  send(notification_point_.write(qp, station, frame.bytes()), now);
  notification_point_.on_sent(qp, now);
  drops_.add(DeviceCounter::kCnpSent);
}

void Transmitter::send_packet(Path& path, const WrittenPacket& packet, const Room& room, const Mac& to,
                              Time now) {
  const bool lacks_icrc = room.may_lack_icrc();
  const std::size_t length = lacks_icrc ? path.encapsulate_without_icrc(room.bytes(), packet, to)
                                        : path.encapsulate(room.bytes(), packet, to);
  counters_.add(Counter::kSentPackets);
  counters_.add(Counter::kSentBytes, length);
  if (!path.is_ipv4()) counters_.add(Counter::kSentIpv6Packets);
  lacks_icrc ? port_->commit_without_icrc(length) : port_->commit(length);
  last_sent_ = now;
}

/// It counts as the packets that it stands for.
void Transmitter::send_run(QueuePair& qp, const WrittenPacket& run, const Room& room, const Mac& to,
                           Time now) {
  Path& path = qp.path();
  const std::span<std::byte> frame = room.run();
  const std::size_t length = path.encapsulate_without_icrc(frame, run, to);
  const auto opcode = transport::wire::Opcode{std::to_integer<std::uint8_t>(frame[path.header_bytes()])};
  const std::size_t bytes = run.packets * path.header_bytes() +
                            transport::wire::Run::bytes_of_packets(opcode, run.size, run.packets);
  charge(qp, bytes, run.packets);
  counters_.add(Counter::kSentPackets, run.packets);
  counters_.add(Counter::kSentBytes, bytes + run.packets * Path::kIcrcBytes);
  if (!path.is_ipv4()) counters_.add(Counter::kSentIpv6Packets, run.packets);
  port_->commit_run(
      length, {.mtu = qp.endpoint().config().path_mtu, .packets = static_cast<std::uint8_t>(run.packets)});
  last_sent_ = now;
}

void Transmitter::send(std::size_t length, Time now) {
  port_->commit(length);
  last_sent_ = now;
}

}  // namespace urnic::nic
