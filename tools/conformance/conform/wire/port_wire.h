// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PortWire: a wire through the port of a NIC.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "drivers/pcap/lost_identification.h"
#include "nic/clock.h"
#include "nic/engine/opened_port.h"
#include "nic/port/number_share.h"
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
  /// The clock outlives it. A port that has a time moves that clock.
  PortWire(nic::OpenedPort opened, const nic::Clock& clock, const IpOverEthernet::Ends& ends);

  transport::Time now() override { return clock_.now() + skipped_; }
  bool is_in_lock_step() const override { return opened_.time != nullptr; }
  void wait_in_real_time(transport::Duration duration) override;
  /// Whether there is no peer any more, or one that grants no time. Then time passes by itself.
  bool is_lost() const { return opened_.time != nullptr && (opened_.time->is_lost() || hangs_); }
  bool send(std::span<const std::byte> ib) override;
  void flush() override { opened_.port->flush(); }
  std::optional<Arrival> receive(transport::Time until) override;

  /// From now on packets for that queue pair count, and the record begins.
  void begin_case(std::uint32_t own_qp);
  const std::vector<RecordedPacket>& record() const { return record_; }
  const transport::wire::Gid& own() const { return addresses_.own; }
  /// Which queue pairs are the tester's, where it shares its address with other NICs.
  const nic::NumberShare& numbers() const { return opened_.numbers; }

 private:
  bool find_peer();
  bool take_arrived();
  void record(std::span<const std::byte> bytes, bool is_sent);
  void wait(transport::Time until);
  void pass(transport::Time until);

  const nic::Clock& clock_;
  const Addresses addresses_;
  nic::OpenedPort opened_;              // carries IP packets
  IpOverEthernet* ethernet_ = nullptr;  // that port, where it has to find out the peer's MAC
  bool hangs_ = false;                  // the peer has granted nothing for long
  transport::Duration skipped_{};       // since then
  std::uint32_t own_qp_ = 0;
  std::optional<drivers::LostIdentification> lost_identification_;  // of a port over sockets
  std::deque<Arrival> arrived_;
  std::vector<RecordedPacket> record_;
};

}  // namespace urnic::conform
