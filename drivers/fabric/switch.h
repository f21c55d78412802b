// Switch: moves Ethernet frames between ports, as a learning bridge does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "drivers/fabric/forwarding_table.h"
#include "nic/packet_port.h"

namespace urnic::drivers {

/// A frame goes to the port where its destination was last seen, to all others while it has not been seen or
/// is a group, and never back. The switch loses nothing by itself: while a port that a frame is for has no
/// room, the port that it came from is not read any further, as a lossless Ethernet does by pausing; what has
/// no peer, or a peer that takes nothing for long, is for that port to drop (see DpdkPort). Each frame is
/// copied once.
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
  };

  struct Round {
    std::size_t frames = 0;   ///< read in this round
    bool is_waiting = false;  ///< a frame waits for room
  };

  /// There are at most kMaxPorts.
  PortNumber add(std::unique_ptr<nic::PacketPort> port);

  /// Reads one burst of each port, and forwards it.
  Round run_round(Clock::time_point now);

  /// Arms the ports that are not; true when frames may be waiting already. A port stays armed, at no cost, until a
  /// round finds frames of it.
  bool arm();
  /// The descriptor of this port was readable, whether or not a frame has come: it is armed anew next time.
  void disarm(PortNumber number);

  /// Whether everything that was forwarded has been taken. A port that has not taken all of it wants further
  /// rounds, and no descriptor tells when.
  bool is_drained();

  std::size_t size() const { return ports_.size(); }
  nic::PacketPort& port(PortNumber number) { return *ports_[number].port; }
  const Counters& counters(PortNumber number) const { return ports_[number].counters; }
  const ForwardingTable& table() const { return table_; }

 private:
  using PortSet = std::uint64_t;  // bit N: port N
  static_assert(kMaxPorts <= 64);
  static constexpr std::size_t kBurst = 64;
  static constexpr auto kLearnAgainAfter = std::chrono::seconds(1);
  static_assert(kLearnAgainAfter < ForwardingTable::kMaxAge);

  /// Where the last frame of a port went whose destination was known. What comes next is mostly of the same two
  /// stations, and needs no look into the table.
  struct LastWay {
    std::array<std::byte, 2 * transport::wire::Mac::kBytes> addresses{};  // destination and source
    PortSet targets = 0;
    std::uint32_t generation = 0;  // of the table
    Clock::time_point until{};  // then the source is learnt again, so that the table knows that it is alive
  };

  struct Port {
    std::unique_ptr<nic::PacketPort> port;
    Counters counters;
    bool is_armed = false;
    LastWay last_way;
    // What the port gave to us and is not forwarded yet: frames[next] to frames[count - 1].
    std::array<std::span<const std::byte>, kBurst> frames;
    std::size_t count = 0;
    std::size_t next = 0;
    PortSet targets = 0;  // where frames[next] still has to go; 0: not known yet
  };

  void forward_from(PortNumber number, Round& round, Clock::time_point now);
  PortSet targets_of(PortNumber from, std::span<const std::byte> frame, Clock::time_point now);
  PortSet look_up(PortNumber from, std::span<const std::byte> frame, Clock::time_point now);
  PortSet deliver(std::span<const std::byte> frame, PortSet targets);
  bool deliver_to(Port& port, std::span<const std::byte> frame);

  std::vector<Port> ports_;
  ForwardingTable table_;
  PortNumber first_ = 0;  // of the next round, so that all get their turn where room is short
  Clock::time_point last_cleaning_{};
};

}  // namespace urnic::drivers
