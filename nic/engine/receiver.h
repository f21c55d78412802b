// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Receiver: the checks that a frame passes on its way to a queue pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nic/config.h"
#include "nic/diagnostics/device_counters.h"
#include "nic/engine/gsi.h"
#include "nic/engine/scheduler.h"
#include "nic/engine/time_wait.h"
#include "nic/engine/transmitter.h"
#include "nic/path/gid_table.h"
#include "nic/path/multicast_groups.h"
#include "nic/path/multicast_reports.h"
#include "nic/path/neighbor_cache.h"
#include "nic/port/received_frame.h"
#include "nic/queues/queue_pair_table.h"
#include "nic/raw/flow_table.h"
#include "transport/counters.h"
#include "transport/time.h"
#include "transport/wire/address.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc_identification.h"
#include "transport/wire/run.h"

namespace urnic::nic {

class FailureLog;

/// All calls under the engine lock.
class Receiver {
 public:
  /// What frames are checked against and where they go.
  struct Dependencies {
    const DeviceConfig& config;
    const GidTable& gids;
    const QueuePairTable& queue_pairs;
    const MulticastGroups& groups;
    FlowTable& flows;
    const TimeWait& time_wait;
    NeighborCache& neighbors;
    MulticastReports& reports;
    Scheduler& scheduler;
    Transmitter& transmitter;
    Gsi& gsi;
    DeviceCounters& drops;
    transport::Counters& counters;
    FailureLog* failures = nullptr;  ///< null: they are not reported
  };

  explicit Receiver(const Dependencies& dependencies);

  /// Takes any frame at all. What flow rules want goes where they say, and no further if they take it away;
  /// what is for a queue pair goes to its endpoint, which is then scheduled; ARP and neighbor discovery go
  /// to the neighbor cache; the rest is for default flow rules, or it is dropped, and each reason is
  /// counted.
  void on_frame(const ReceivedFrame& frame, transport::Time now);

 private:
  std::span<const std::byte> whole(std::span<const std::byte> bytes);
  [[gnu::cold]] void on_each_frame(const ReceivedFrame& received, transport::Time now);
  bool apply_flow_rules(std::span<const std::byte> frame, transport::Time now);
  void deliver_raw(std::span<const transport::QpNumber> receivers, std::span<const std::byte> frame,
                   transport::Time now);
  template <typename Reason>
  void drop_or_default_rule(std::span<const std::byte> frame, transport::Time now, Reason reason);
  void on_packet(const transport::wire::Packet& packet, const transport::wire::Frame& frame,
                 transport::Time now);
  void on_run(const transport::wire::Run& run, const transport::wire::Frame& frame, transport::Time now);
  bool take_run(const transport::wire::Run& run, const transport::wire::Frame& frame, transport::Time now);
  void on_congestion_notification(QueuePair& qp, const transport::wire::Packet& packet,
                                  const transport::wire::Frame& frame, transport::Time now);
  void learn_peer(QueuePair& qp, const transport::wire::Mac& mac, transport::Time now);
  void deliver(QueuePair& qp, const transport::wire::Packet& packet, const transport::wire::Frame& frame,
               transport::Time now);
  void on_packet_for_group(const transport::wire::Packet& packet, const transport::wire::Frame& frame,
                           transport::Time now);
  bool is_for(const QueuePair& qp, const transport::wire::Packet& packet);
  void on_packet_without_qp(const transport::wire::Packet& packet, const transport::wire::Frame& frame,
                            transport::Time now);
  void explain_wrong_peer(const QueuePair& qp, const transport::wire::Frame& frame, transport::Time now);
  void explain_damaged_request(const transport::wire::Packet& packet, const transport::wire::Frame& frame,
                               transport::Time now);
  bool is_intact(const transport::wire::Frame& frame);
  bool is_of_another_identification(const transport::wire::Frame& frame, std::uint32_t icrc_difference);
  void drop(DeviceCounter reason) { deps_.drops.add(reason); }

  const Dependencies deps_;
  /// Null on Ethernet, where frames have the identification that they were sent with.
  std::unique_ptr<transport::wire::IcrcIdentification> identifications_;
  std::vector<std::byte> whole_;  // a frame with its ICRC, for a program that receives frames
};

}  // namespace urnic::nic
