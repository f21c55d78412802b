#include "nic/engine/transmitter.h"

#include <algorithm>
#include <cstring>

#include "nic/path/multicast_groups.h"
#include "transport/qp_state.h"

namespace urnic::nic {

using transport::Counter;
using transport::QpState;
using transport::Time;
using transport::WrittenPacket;

bool Transmitter::run(Time now) {
  is_blocked_ = false;
  neighbors_.on_timeout(now);
  bool worked = send_frames_of(neighbors_, now);
  worked |= send_frames_of(reports_, now);
  if (neighbor_generation_ != neighbors_.generation()) {
    neighbor_generation_ = neighbors_.generation();
    scheduler_.unpark();
  }
  worked |= serve(&Scheduler::next_responding, kPacketsPerResponse, now);
  worked |= serve(&Scheduler::next_sending, kPacketsPerTurn, now);
  if (is_blocked_) drops_.add(DeviceCounter::kPortFull);
  return worked;
}

template <typename Machine>
bool Transmitter::send_frames_of(Machine& machine, Time now) {
  bool sent = false;
  for (std::size_t i = 0; i < kPacketsPerRound && machine.next_timeout() <= now; ++i) {
    const std::span<std::byte> frame = port_->reserve();
    is_blocked_ = frame.empty();
    if (is_blocked_) break;
    const std::size_t length = machine.poll_transmit(frame, now);
    if (length == 0) break;
    send(length, now);
    sent = true;
  }
  return sent;
}

/// Gives turns until no queue pair is left or the round's share is used up. Responses and requests have
/// shares of their own, so that neither keeps the other waiting for ever.
bool Transmitter::serve(QueuePair* (Scheduler::*next)(), std::size_t packets_per_turn, Time now) {
  bool worked = false;
  std::size_t left = kPacketsPerRound;
  while (left > 0) {
    QueuePair* const qp = (scheduler_.*next)();
    if (qp == nullptr) break;
    if (is_blocked_ && !Scheduler::is_only_flushed(*qp)) {
      scheduler_.put_back_first(*qp);
      break;
    }
    const bool is_raw = is_for_frames(qp->attributes().type);
    Route route;
    if (!is_raw && !find_route(*qp, route, now)) {
      qp->endpoint().release_completions();
      scheduler_.park(*qp);
      worked = true;  // there is a neighbor to be asked for, in the next round
      continue;
    }
    const std::size_t quota = std::min(packets_per_turn, left);
    const Turn turn = is_raw ? give_raw_turn(*qp, quota, now) : give_turn(*qp, route, quota, now);
    left -= std::clamp<std::size_t>(turn.packets, 1, left);
    worked |= turn.packets > 0 || turn.outcome != Outcome::kPortFull;

    scheduler_.expect_timeout(*qp);
    if (turn.outcome == Outcome::kPortFull) {
      is_blocked_ = true;
      scheduler_.put_back_first(*qp);
    } else if (turn.outcome == Outcome::kMoreToSend || qp->note_state()) {
      scheduler_.put_back(*qp);
    }
  }
  return worked;
}

/// Finds the path and the peer's MAC. False when that is being asked for and the queue pair has to wait. A
/// queue pair whose peer does not answer goes on as if it did, so that its retries run out, or its datagrams
/// are lost.
bool Transmitter::find_route(QueuePair& qp, Route& route, Time now) {
  if (is_connected(qp.attributes().type)) {
    if (qp.path().header_bytes() == 0) return true;
    return resolve(qp.path(), qp.peer_mac(), route, now) || qp.endpoint().state() == QpState::kError;
  }
  route.address = qp.endpoint().next_destination();
  AddressHandles::Handle* const handle = address_handles_.find(route.address);
  if (handle == nullptr) return true;
  if (!handle->path.has_flow_label()) handle->path.use_source_port(datagram_source_port(qp.number()));
  return resolve(handle->path, handle->peer_mac, route, now);
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

Transmitter::Turn Transmitter::give_turn(QueuePair& qp, const Route& route, std::size_t quota, Time now) {
  Turn turn{.outcome = Outcome::kMoreToSend};
  const std::size_t header_bytes = route.path != nullptr ? route.path->header_bytes() : 0;
  for (; turn.packets < quota; ++turn.packets) {
    if (qp.endpoint().next_destination() != route.address) break;
    const std::span<std::byte> frame = port_->reserve_to(route.mac);
    // In ERR there is work to be flushed, and that must not wait for the port.
    if (frame.empty() && qp.endpoint().state() != QpState::kError) {
      turn.outcome = Outcome::kPortFull;
      break;
    }
    const std::size_t overhead = header_bytes + Path::kIcrcBytes;
    const bool can_send = route.is_reachable && frame.size() > overhead;
    const std::span<std::byte> room =
        can_send ? frame.subspan(header_bytes, frame.size() - overhead) : std::span<std::byte>();

    const WrittenPacket packet = poll_into(qp, room, now);
    if (packet.size == 0) {
      turn.outcome = Outcome::kDone;
      break;
    }
    if (QpMonitor* const monitor = qp.monitor()) [[unlikely]] {
      const bool is_in_scratch = packet.size > room.size();
      const std::span<const std::byte> written = is_in_scratch ? std::span<const std::byte>(scratch_) : room;
      monitor->on_sent(written.first(packet.size), route.is_reachable, now);
    }
    if (!route.is_reachable) {
      drops_.add(DeviceCounter::kNoNeighbor);
    } else if (packet.size > room.size()) {
      drops_.add(DeviceCounter::kTooLong);
    } else {
      const std::size_t length = route.path->encapsulate(frame, packet, route.mac);
      counters_.add(Counter::kSentPackets);
      counters_.add(Counter::kSentBytes, length);
      send(length, now);
    }
  }
  return turn;
}

/// Raw packets are frames already: they need no route and nothing around them.
Transmitter::Turn Transmitter::give_raw_turn(QueuePair& qp, std::size_t quota, Time now) {
  Turn turn{.outcome = Outcome::kMoreToSend};
  for (; turn.packets < quota; ++turn.packets) {
    const std::span<std::byte> room = port_->reserve();
    if (room.empty() && qp.endpoint().state() != QpState::kError) {
      turn.outcome = Outcome::kPortFull;
      break;
    }
    const std::size_t longest = std::min(room.size(), port_->max_frame_bytes());
    const std::size_t size = qp.endpoint().poll_transmit(room.first(longest), now).size;
    if (size == 0) {
      turn.outcome = Outcome::kDone;
      break;
    }
    send(size, now);
  }
  return turn;
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

void Transmitter::acknowledge_again(transport::QpNumber destroyed, const transport::wire::Mac& to, Time now) {
  const std::span<std::byte> frame = port_->reserve_to(to);
  if (frame.empty()) return;
  drops_.add(DeviceCounter::kAnsweredAfterDestroy);
  send(time_wait_.acknowledge(destroyed, to, frame), now);
}

void Transmitter::notify_of_congestion(QueuePair& qp, const transport::wire::Mac& to, Time now) {
  if (!notification_point_.is_due(qp, now)) return;
  const transport::wire::Mac station = qp.path().local_station().value_or(to);
  const std::span<std::byte> frame = port_->reserve_to(station);
  if (frame.size() < NotificationPoint::kMaxFrameBytes) return;
  send(notification_point_.write(qp, station, frame), now);
  notification_point_.on_sent(qp, now);
  drops_.add(DeviceCounter::kCnpSent);
}

void Transmitter::send(std::size_t length, Time now) {
  port_->commit(length);
  last_sent_ = now;
}

}  // namespace urnic::nic
