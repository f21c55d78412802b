// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PortWire: a wire through a port that carries IP packets.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "nic/clock.h"
#include "nic/port/packet_port.h"
#include "tools/conformance/conform/wire/roce_packet.h"
#include "tools/conformance/conform/wire/wire.h"
#include "transport/result.h"

namespace urnic::conform {

/// An IP packet that went by.
struct RecordedPacket {
  std::chrono::nanoseconds wall_time;
  bool is_sent = false;
  std::vector<std::byte> bytes;
};

class PortWire final : public Wire {
 public:
  /// UDP sockets of this host: `own` is an address of it, or unspecified; then the route to the peer chooses.
  static Result<std::unique_ptr<PortWire>, Error> open_udp(const transport::wire::Gid& own,
                                                           const transport::wire::Gid& peer);

  transport::Time now() override { return clock_.now(); }
  bool send(std::span<const std::byte> ib) override;
  void flush() override { port_->flush(); }
  std::optional<Arrival> receive(transport::Time until) override;

  /// From now on packets for that queue pair count, and the record begins.
  void begin_case(std::uint32_t own_qp);
  const std::vector<RecordedPacket>& record() const { return record_; }
  const transport::wire::Gid& own() const { return addresses_.own; }

 private:
  PortWire(std::unique_ptr<nic::PacketPort> port, const Addresses& addresses)
      : port_(std::move(port)), addresses_(addresses) {}
  bool take_arrived();
  void record(std::span<const std::byte> bytes, bool is_sent);

  std::unique_ptr<nic::PacketPort> port_;
  const Addresses addresses_;
  nic::SteadyClock clock_;
  std::uint32_t own_qp_ = 0;
  std::deque<Arrival> arrived_;
  std::vector<RecordedPacket> record_;
};

}  // namespace urnic::conform
