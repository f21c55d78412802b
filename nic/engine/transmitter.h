// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Transmitter: gives queue pairs their turns and sends what they have to say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nic/diagnostics/device_counters.h"
#include "nic/engine/notification_point.h"
#include "nic/engine/scheduler.h"
#include "nic/engine/time_wait.h"
#include "nic/memory/memory_table.h"
#include "nic/path/address_handles.h"
#include "nic/path/multicast_reports.h"
#include "nic/path/neighbor_cache.h"
#include "nic/port/packet_port.h"
#include "transport/counters.h"
#include "transport/endpoint.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"
#include "transport/written_packet.h"

namespace urnic::nic {

/// One run() is one engine round's share of sending: bounded, so that no poll takes long, and cut into short
/// turns, so that a long message does not keep others waiting. All calls under the engine lock.
class Transmitter {
 public:
  struct Dependencies {
    NeighborCache& neighbors;
    MulticastReports& reports;
    AddressHandles& address_handles;
    MemoryTable& memory;
    Scheduler& scheduler;
    TimeWait& time_wait;
    NotificationPoint& notification_point;
    DeviceCounters& drops;
    transport::Counters& counters;
  };

  explicit Transmitter(const Dependencies& deps)
      : neighbors_(deps.neighbors),
        reports_(deps.reports),
        address_handles_(deps.address_handles),
        memory_(deps.memory),
        scheduler_(deps.scheduler),
        time_wait_(deps.time_wait),
        notification_point_(deps.notification_point),
        drops_(deps.drops),
        counters_(deps.counters) {}

  /// The port that everything goes to; before any other call.
  void attach(PacketPort& port) { port_ = &port; }

  /// Sends ARP, neighbor discovery and multicast reports first, then what had no room on its way before, then
  /// the pending responses, then requests. Returns whether anything was done. What did not fit into the
  /// round, or into the port, waits for the next one. What peers sent before `heard_until` was received:
  /// questions without an answer until then have none.
  bool run(transport::Time now, transport::Time heard_until);

  /// Answers a repeated request for a destroyed queue pair, if the port takes it now: the peer repeats it
  /// otherwise.
  void acknowledge_again(transport::QpNumber destroyed, const transport::wire::Mac& to, transport::Time now);

  /// A packet from the peer of `qp`, a connected one, came with the mark of congestion: sends a CNP if one is
  /// due, and the port takes it now.
  void notify_of_congestion(QueuePair& qp, const transport::wire::Mac& to, transport::Time now);

  /// Whether the last run() ended because the port took no more.
  bool is_blocked() const { return is_blocked_; }
  /// Whether frames of neighbor discovery or reports of groups found no room in the last run().
  bool has_frames_left() const { return has_frames_left_; }
  /// When the last frame was handed to the port; the clock's epoch when none was.
  transport::Time last_sent() const { return last_sent_; }

 private:
  static constexpr std::size_t kPacketsPerRound = 64;
  /// Bytes of frames in one turn of requests, so that queue pairs get the same whatever the size of their
  /// packets. The last packet may exceed it; the next turn is shorter then.
  static constexpr std::int32_t kBytesPerTurn = 16 * 1024;
  /// A frame counts as so many bytes at least: many small ones take time, too.
  static constexpr std::size_t kLeastBytes = 512;
  /// Enough for any acknowledgement. A queue pair with more to answer, a READ, goes on among those that send.
  static constexpr std::size_t kPacketsPerResponse = 4;
  static constexpr std::size_t kMaxPayloadBytes = 4096;

  /// Where a queue pair's packets go in one turn.
  struct Route {
    Path* path = nullptr;       ///< null: nowhere, the address handle is gone
    bool is_reachable = false;  ///< otherwise packets are made and dropped
    transport::wire::Mac mac{};
    bool is_for_datagrams = false;  ///< then also, and packets to others need another route:
    transport::AddressHandleId address{};
    std::optional<transport::wire::Mac> station{};  ///< of a NIC that shares this host's addresses
    bool has_station = false;                       ///< there is one for each destination
  };
  enum class Outcome : std::uint8_t { kDone, kMoreToSend, kPortFull, kWayFull };
  struct Turn {
    Outcome outcome = Outcome::kDone;
    std::size_t packets = 0;
    transport::wire::Mac way{};  ///< of kWayFull; see FullWays
  };
  enum class Kind : std::uint8_t { kResponses, kRequests };
  /// What is left of a round.
  struct Share {
    std::size_t packets = kPacketsPerRound;
    bool worked = false;
  };

  /// `Machine` is the neighbor cache, or the multicast reports.
  template <typename Machine>
  bool send_frames_of(Machine& machine, transport::Time now);
  bool serve_full_ways(transport::Time now);
  bool is_full_still(FullWays::Way& way, Share& share, transport::Time now);
  bool serve(Kind kind, transport::Time now);
  Turn take_turn(QueuePair& qp, Kind kind, Share& share, transport::Time now);
  bool find_route(QueuePair& qp, Route& route, transport::Time now);
  static bool leads_to_next(const Route& route, const QueuePair& qp);
  bool resolve(Path& path, PeerMac& known, Route& route, transport::Time now);
  /// A turn sends `most` packets at most, and as many bytes as are left of the turn of `qp`.
  Turn give_turn(QueuePair& qp, const Route& route, std::size_t most, transport::Time now);
  Turn give_raw_turn(QueuePair& qp, std::size_t most, transport::Time now);
  static void charge(QueuePair& qp, std::size_t bytes, std::size_t frames = 1);
  static bool must_wait(const QueuePair& qp, const Room& room, const transport::wire::Mac& destination,
                        Turn& turn);
  static bool may_be_run(const QueuePair& qp, const Room& room, std::size_t header_bytes);
  transport::WrittenPacket poll_into(QueuePair& qp, std::span<std::byte> room, transport::Time now);
  void send_packet(Path& path, const transport::WrittenPacket& packet, const Room& room,
                   const transport::wire::Mac& to, transport::Time now);
  void send_run(QueuePair& qp, const transport::WrittenPacket& run, const Room& room,
                const transport::wire::Mac& to, transport::Time now);
  void send(std::size_t length, transport::Time now);

  NeighborCache& neighbors_;
  MulticastReports& reports_;
  AddressHandles& address_handles_;
  MemoryTable& memory_;
  Scheduler& scheduler_;
  TimeWait& time_wait_;
  NotificationPoint& notification_point_;
  DeviceCounters& drops_;
  transport::Counters& counters_;
  PacketPort* port_ = nullptr;

  std::uint32_t neighbor_generation_ = 0;
  bool is_blocked_ = false;
  bool has_frames_left_ = false;
  transport::Time last_sent_{};
  std::array<std::byte, transport::kMaxPacketHeaderBytes + kMaxPayloadBytes> scratch_{};
};

}  // namespace urnic::nic
