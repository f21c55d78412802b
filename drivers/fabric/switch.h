// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Switch: ports, and frames that move between them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "drivers/fabric/forwarding_table.h"
#include "nic/port/packet_port.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// What all switches have: ports, and the addresses that were seen at them. A round reads a burst from each
/// port whose last burst has gone on. The derived class decides where a frame goes, and when.
///
/// Knows neither clock nor thread: one caller at a time.
class Switch {
 public:
  using PortNumber = ForwardingTable::PortNumber;
  using Clock = ForwardingTable::Clock;

  static constexpr std::size_t kMaxPorts = 64;

  /// Of one port, counted by the switch beside the port's own Statistics.
  struct Counters {
    std::uint64_t flooded_frames = 0;    ///< came in, and went to all others
    std::uint64_t malformed_frames = 0;  ///< came in with no whole header, or from a group: dropped
    std::uint64_t too_long_frames = 0;   ///< were for this port and are longer than it carries: dropped
    std::uint64_t late_frames = 0;  ///< were for this port, which had no room when they were due: dropped
  };

  struct Round {
    std::size_t frames = 0;   ///< read in this round
    bool is_waiting = false;  ///< a frame waits for room, and nothing tells when there is some
    Clock::time_point next =
        Clock::time_point::max();  ///< when a round has work, whether or not a frame comes
  };

  Switch() = default;
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;
  virtual ~Switch() = default;

  /// There are at most kMaxPorts.
  PortNumber add(std::unique_ptr<nic::PacketPort> port);

  /// Reads one burst of each port, and moves what can go on. `now` never goes back.
  virtual Round run_round(Clock::time_point now) = 0;

  /// A frame as if it came in at that port, without waiting: where there is no room for it, it is lost.
  virtual void inject(PortNumber from, std::span<const std::byte> frame, Clock::time_point now) = 0;

  /// Arms the ports that are not, except those whose last burst has not gone on: they are not read before.
  /// True when frames may be waiting already. A port stays armed, at no cost, until a round finds frames of
  /// it.
  bool arm();
  /// The descriptor of this port was readable, whether or not a frame has come: it is armed again next time.
  void disarm(PortNumber number);

  /// Whether everything that was forwarded has been taken. A port that has not taken all of it wants further
  /// rounds, and no descriptor tells when.
  bool is_drained();

  std::size_t size() const { return ports_.size(); }
  nic::PacketPort& port(PortNumber number) { return *ports_[number].port; }
  const Counters& counters(PortNumber number) const { return ports_[number].counters; }
  const ForwardingTable& table() const { return table_; }

 protected:
  static constexpr std::size_t kBurst = 64;
  static constexpr std::size_t kHeaderBytes = 14;

  struct Port {
    bool has_frames() const { return next < count; }

    std::unique_ptr<nic::PacketPort> port;
    Counters counters;
    bool is_armed = false;
    // What the port gave to us and is not forwarded yet: frames[next] to frames[count - 1].
    std::array<nic::ReceivedFrame, kBurst> frames;
    std::size_t count = 0;
    std::size_t next = 0;
  };

  /// Of a frame with a header.
  static transport::wire::Mac destination_of(std::span<const std::byte> frame);
  static transport::wire::Mac source_of(std::span<const std::byte> frame);
  /// Reads a burst, if the last one has gone on.
  void read(PortNumber number, Round& round);
  /// Copies the frame to the port, or drops and counts it where it is too long; false: there is no room now.
  static bool deliver(std::span<const std::byte> frame, Port& to);
  void flush();

  std::vector<Port> ports_;
  ForwardingTable table_;
};

}  // namespace urnic::drivers
