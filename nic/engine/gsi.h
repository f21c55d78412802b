// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Gsi: queue pair 1, the "general service interface" through which connection managers talk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "nic/cm/connection.h"
#include "nic/cm/farewell_keeper.h"
#include "nic/config.h"
#include "nic/diagnostics/device_counters.h"
#include "nic/engine/management_frame.h"
#include "nic/path/gid_table.h"
#include "nic/path/multicast_reports.h"
#include "nic/path/neighbor_cache.h"
#include "nic/port/last_words.h"
#include "nic/port/packet_port.h"
#include "nic/queues/queue_pair_table.h"
#include "nic/rdma_cm/rdma_cm.h"
#include "transport/counters.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"
#include "transport/wire/frame.h"
#include "transport/wire/packet.h"

namespace urnic::nic {

/// Carries the connection manager's messages in datagrams (fact 44). All calls under the engine lock.
class Gsi final : private cm::FarewellKeeper {
 public:
  struct Dependencies {
    const DeviceConfig& config;
    const GidTable& gids;
    NeighborCache& neighbors;
    MulticastReports& reports;
    const QueuePairTable& queue_pairs;
    DeviceCounters& drops;
    transport::Counters& counters;
  };

  explicit Gsi(const Dependencies& dependencies);

  /// The port that everything goes to; before any other call.
  void attach(PacketPort& port) { port_ = &port; }
  /// Keeps there what peers are told should the process be killed. There are no connections yet.
  void use(std::unique_ptr<LastWords> last_words);

  rdma_cm::RdmaCm& rdma_cm() { return rdma_cm_; }
  const rdma_cm::RdmaCm& rdma_cm() const { return rdma_cm_; }

  /// A packet for queue pair 1, with a P_Key of ours.
  void on_packet(const transport::wire::Packet& packet, const transport::wire::Frame& frame,
                 transport::Time now);

  /// Timers first, then what is to be sent, as far as the port takes it. Timers run out by `heard_until`:
  /// what peers sent before was received. Returns whether anything was done.
  bool run(transport::Time now, transport::Time heard_until);
  /// When run() must be called next at the latest.
  transport::Time next_timeout() const;
  /// When the last message was handed to the port; the clock's epoch when none was.
  transport::Time last_sent() const { return last_sent_; }
  /// Whether messages wait for a round to send them.
  bool has_outgoing() const { return rdma_cm_.messages().has_outgoing(); }
  /// Whether all of these found no room in the last run().
  bool waits_for_room() const { return waits_for_room_; }

 private:
  static constexpr std::size_t kMessagesPerRound = 16;
  /// Messages that are looked at in a round, as those in front of them find no room.
  static constexpr std::size_t kLooksPerRound = 256;
  static constexpr std::size_t kMostFullWays = 8;

  bool look_for_data(transport::Time now);
  bool has_received(const cm::Connection& connection) const;
  bool send_messages(transport::Time now);
  std::optional<transport::wire::Mac> find_station(const cm::MadPath& to, transport::Time now);
  void send(const cm::OutgoingMad& mad, const transport::wire::Mac& mac, std::span<std::byte> frame,
            transport::Time now);

  // cm::FarewellKeeper
  void keep(cm::CommunicationId id, const cm::Farewell& farewell) override;
  void forget(cm::CommunicationId id) override;

  const Dependencies deps_;
  rdma_cm::RdmaCm rdma_cm_;
  PacketPort* port_ = nullptr;
  std::unique_ptr<LastWords> last_words_;
  transport::Time next_look_ = transport::kNever;  // for data that make up for an RTU
  transport::Psn next_psn_{};
  bool waits_for_room_ = false;
  transport::Time last_sent_{};
};

}  // namespace urnic::nic
