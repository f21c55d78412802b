// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PortWire: a wire through a port that carries IP packets.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/pcap/lost_identification.h"
#include "nic/clock.h"
#include "nic/port/granted_time.h"
#include "nic/port/packet_port.h"
#include "tools/conformance/conform/wire/ip_over_ethernet.h"
#include "tools/conformance/conform/wire/roce_packet.h"
#include "tools/conformance/conform/wire/wire.h"

namespace urnic::conform {

/// An IP packet that went by.
struct RecordedPacket {
  std::chrono::nanoseconds wall_time;
  bool is_sent = false;
  std::vector<std::byte> bytes;
};

/// Any thread, one after the other.
class PortWire final : public Wire {
 public:
  struct Parts {
    std::unique_ptr<nic::Clock> clock;
    std::unique_ptr<nic::PacketPort> port;  ///< carries IP packets
    /// Of a port that moves the clock; null: the clock goes by itself.
    nic::GrantedTime* time = nullptr;
    /// The port, where it has to find out the peer's MAC.
    IpOverEthernet* ethernet = nullptr;
  };
  PortWire(Parts parts, const Addresses& addresses);

  transport::Time now() override { return parts_.clock->now() + skipped_; }
  bool is_in_lock_step() const override { return parts_.time != nullptr; }
  void wait_in_real_time(transport::Duration duration) override;
  /// Whether there is no peer any more, or one that grants no time. Then time passes by itself.
  bool is_lost() const { return parts_.time != nullptr && (parts_.time->is_lost() || hangs_); }
  bool send(std::span<const std::byte> ib) override;
  void flush() override { parts_.port->flush(); }
  std::optional<Arrival> receive(transport::Time until) override;

  /// From now on packets for that queue pair count, and the record begins.
  void begin_case(std::uint32_t own_qp);
  const std::vector<RecordedPacket>& record() const { return record_; }
  const transport::wire::Gid& own() const { return addresses_.own; }

 private:
  bool find_peer();
  bool take_arrived();
  void record(std::span<const std::byte> bytes, bool is_sent);
  void wait(transport::Time until);
  void pass(transport::Time until);

  Parts parts_;
  const Addresses addresses_;
  bool hangs_ = false;             // the peer has granted nothing for long
  transport::Duration skipped_{};  // since then
  std::uint32_t own_qp_ = 0;
  std::optional<drivers::LostIdentification> lost_identification_;  // of a port over sockets
  std::deque<Arrival> arrived_;
  std::vector<RecordedPacket> record_;
};

}  // namespace urnic::conform
