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
using transport::wire::Opcode;
using transport::wire::Packet;

namespace {

constexpr transport::Duration kLookInterval = std::chrono::milliseconds(10);
/// Some microseconds of work.
constexpr std::size_t kLooksAtOnce = 64;
/// Fact 16.
constexpr std::uint32_t kManagementQkey = 0x80010000;

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
  rdma_cm_.messages().on_mad(
      packet.payload,
      {.source = frame.source_gid(), .destination = frame.destination_gid(), .mac = frame.ethernet.source},
      now);
}

bool Gsi::run(Time now) {
  bool worked = false;
  if (rdma_cm_.next_timeout() <= now) {
    rdma_cm_.on_timeout(now);
    worked = true;
  }
  worked |= look_for_data(now);
  cm::CommunicationManager& messages = rdma_cm_.messages();
  for (std::size_t i = 0; i < kMessagesPerRound && messages.has_outgoing(); ++i) {
    if (!send(messages.next_outgoing(), now)) break;
    messages.pop();
    worked = true;
  }
  return worked;
}

Time Gsi::next_timeout() const {
  return has_outgoing() ? Time{} : std::min(rdma_cm_.next_timeout(), next_look_);
}

/// An RTU may get lost, and the peer's data come all the same: they say as much (fact 47). The queue pair of a librdmacm
/// program is in RTS before REP leaves, so that it has no event to tell of it. Nothing is noted when a packet comes:
/// the queue pairs are looked at now and then. Returns whether a connection was established.
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

/// False when the port takes no frame now. A message for a station that is not known is lost: it will be repeated, and the
/// station is asked for meanwhile.
bool Gsi::send(const cm::OutgoingMad& mad, Time now) {
  const cm::MadPath& to = mad.path;
  transport::wire::Mac mac{};
  if (to.mac) {
    mac = *to.mac;
  } else {
    const NeighborCache::Lookup lookup = deps_.neighbors.resolve(to.destination, now);
    if (lookup.state != NeighborState::kReachable) {
      deps_.drops.add(DeviceCounter::kNoNeighbor);
      return true;
    }
    mac = lookup.mac;
  }
  const std::span<std::byte> frame = port_->reserve_to(mac);
  if (frame.empty()) return false;

  const std::size_t length = write_management_frame(mad, deps_.config.link_source(), mac, next_psn_, frame);
  next_psn_ = next_psn_ + 1;
  port_->commit(length);
  last_sent_ = now;
  deps_.counters.add(Counter::kSentPackets);
  deps_.counters.add(Counter::kSentBytes, length);
  return true;
}

// --- Should the process be killed ---

void Gsi::use(std::unique_ptr<LastWords> last_words) {
  last_words_ = std::move(last_words);
  rdma_cm_.messages().use(*this);
}

/// On Ethernet nothing is kept before the peer's station is known, which the first message of its tells.
void Gsi::keep(cm::CommunicationId id, const cm::OutgoingMad& farewell) {
  const bool needs_station = deps_.config.medium == Medium::kEthernet;
  if (needs_station && !farewell.path.mac) return forget(id);
  std::array<std::byte, kMaxManagementFrame> frame;
  const std::size_t length =
      write_management_frame(farewell, deps_.config.link_source(),
                             farewell.path.mac.value_or(transport::wire::Mac{}), transport::Psn{}, frame);
  last_words_->keep(transport::to_integer(id), std::span(frame).first(length));
}

void Gsi::forget(cm::CommunicationId id) {
  last_words_->forget(transport::to_integer(id));
}

}  // namespace urnic::nic
