// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/gsi.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

#include "nic/path/path.h"
#include "nic/queues/queue_pair.h"
#include "transport/endpoint.h"
#include "transport/qp_state.h"
#include "transport/wire/opcode.h"

namespace urnic::nic {

using transport::Counter;
using transport::kNever;
using transport::Time;
using transport::wire::Frame;
using transport::wire::Mac;
using transport::wire::Opcode;
using transport::wire::Packet;

namespace {

constexpr transport::Duration kLookInterval = std::chrono::milliseconds(10);
/// Some microseconds of work.
constexpr std::size_t kLooksAtOnce = 64;

}  // namespace

Gsi::Gsi(const Dependencies& dependencies)
    : deps_(dependencies),
      rdma_cm_(dependencies.config, dependencies.gids, dependencies.neighbors, dependencies.reports) {}

void Gsi::on_packet(const Packet& packet, const Frame& frame, Time now) {
  const bool is_management = packet.bth.opcode == Opcode::kUdSendOnly &&
                             packet.deth.qkey == kManagementQkey && packet.payload.size() == cm::kMadBytes;
  if (!is_management) return deps_.drops.add(DeviceCounter::kManagement);
  deps_.counters.add(Counter::kReceivedPackets);
  deps_.counters.add(Counter::kReceivedBytes, frame.used_bytes);
  if (!frame.is_ipv4()) deps_.counters.add(Counter::kReceivedIpv6Packets);
  rdma_cm_.messages().on_mad(
      packet.payload,
      {.source = frame.source_gid(), .destination = frame.destination_gid(), .mac = frame.ethernet.source},
      now);
}

bool Gsi::run(Time now, Time heard_until) {
  bool worked = false;
  if (rdma_cm_.next_timeout() <= heard_until) {
    rdma_cm_.on_timeout(heard_until);
    worked = true;
  }
  worked |= look_for_data(now);
  if (has_outgoing()) return send_messages(now) || worked;
  waits_for_room_ = false;
  return worked;
}

/// A message whose way is full lets messages to other stations go first. Messages to one station leave in
/// their order, as far as this round looks.
bool Gsi::send_messages(Time now) {
  waits_for_room_ = false;
  cm::CommunicationManager& messages = rdma_cm_.messages();
  std::array<Mac, kMostFullWays> full;
  std::size_t full_count = 0;
  std::size_t sent = 0;
  const std::size_t waiting = messages.outgoing_count();
  const std::size_t looks = std::min(waiting, kLooksPerRound);
  for (std::size_t i = 0; i < looks && sent < kMessagesPerRound; ++i) {
    const cm::OutgoingMad& mad = messages.next_outgoing();
    const std::optional<Mac> station = find_station(mad.path, now);
    if (!station) {
      messages.pop();
      ++sent;
      continue;
    }
    const bool is_full =
        std::find(full.begin(), full.begin() + full_count, *station) != full.begin() + full_count;
    const Room frame = is_full ? Room::none(Room::Refusal::kStation) : port_->reserve_to(*station);
    if (!frame.empty()) {
      send(mad, *station, frame.bytes(), now);
      messages.pop();
      ++sent;
      continue;
    }
    if (frame.refusal() == Room::Refusal::kPort) break;
    if (!is_full && full_count < full.size()) full[full_count++] = *station;
    messages.put_off();
  }
  waits_for_room_ = waiting > 0 && sent == 0;
  return sent > 0;
}

Time Gsi::next_timeout() const {
  return has_outgoing() && !waits_for_room_ ? Time{} : std::min(rdma_cm_.next_timeout(), next_look_);
}

/// An RTU may get lost while the peer's data come: the data say as much as the RTU (fact 47). The queue pair
/// of a librdmacm program is in RTS before REP leaves, so it has no event to tell of it. Nothing is noted
/// when a packet comes; instead, this looks at the queue pairs now and then. Returns whether a connection was
/// established.
bool Gsi::look_for_data(Time now) {
  cm::CommunicationManager& messages = rdma_cm_.messages();
  const std::size_t count = std::min(messages.unconfirmed_count(), kLooksAtOnce);
  if (count == 0) {
    next_look_ = kNever;
    return false;
  }
  if (next_look_ == kNever) next_look_ = now + kLookInterval;
  if (now < next_look_) return false;
  next_look_ = now + kLookInterval;
  bool worked = false;
  for (std::size_t i = 0; i < count; ++i) {
    const cm::Connection* const connection = messages.next_unconfirmed();
    if (connection == nullptr) break;
    if (has_received(*connection)) worked |= messages.establish(connection->local_id);
  }
  return worked;
}

bool Gsi::has_received(const cm::Connection& connection) const {
  const QueuePair* const qp = deps_.queue_pairs.find(connection.local_qp);
  if (qp == nullptr) return false;
  const transport::Endpoint& endpoint = qp->endpoint();
  return can_receive(endpoint.state()) && distance(connection.receive_psn, endpoint.next_receive_psn()) > 0;
}

/// None: the message is lost. The sender repeats it, and meanwhile the NIC asks for the station.
std::optional<Mac> Gsi::find_station(const cm::MadPath& to, Time now) {
  if (to.mac) return to.mac;
  const NeighborCache::Lookup lookup = deps_.neighbors.resolve(to.destination, now);
  if (lookup.state == NeighborState::kReachable) return lookup.mac;
  deps_.drops.add(DeviceCounter::kNoNeighbor);
  return std::nullopt;
}

void Gsi::send(const cm::OutgoingMad& mad, const Mac& mac, std::span<std::byte> frame, Time now) {
  const std::size_t length = write_management_frame(mad, deps_.config.link_source(), mac, next_psn_, frame);
  next_psn_ = next_psn_ + 1;
  port_->commit(length);
  last_sent_ = now;
  deps_.counters.add(Counter::kSentPackets);
  deps_.counters.add(Counter::kSentBytes, length);
  if (!mad.path.destination.is_ipv4_mapped()) deps_.counters.add(Counter::kSentIpv6Packets);
}

// --- Should the process be killed ---

void Gsi::use(std::unique_ptr<LastWords> last_words) {
  last_words_ = std::move(last_words);
  rdma_cm_.messages().use(*this);
}

/// On Ethernet nothing is kept before the peer's station is known, which the first message of its tells.
void Gsi::keep(cm::CommunicationId id, const cm::Farewell& farewell) {
  const std::optional<transport::wire::Mac>& station = farewell.mad.path.mac;
  if (deps_.config.medium == Medium::kEthernet && !station) return forget(id);
  std::array<std::byte, kMaxManagementFrame> frame;
  const std::size_t length =
      write_management_frame(farewell.mad, deps_.config.link_source(),
                             station.value_or(transport::wire::Mac{}), transport::Psn{}, frame);
  last_words_->keep(
      transport::to_integer(id), std::span(frame).first(length),
      {.pause = std::chrono::ceil<std::chrono::milliseconds>(farewell.pause), .was_sent = farewell.was_sent});
}

void Gsi::forget(cm::CommunicationId id) {
  last_words_->forget(transport::to_integer(id));
}

}  // namespace urnic::nic
