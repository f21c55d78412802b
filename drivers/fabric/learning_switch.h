// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LearningSwitch: a switch that does what a learning bridge does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/fabric/switch.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// A frame goes to the port where its destination was last seen, to all others while it has not been seen or
/// is a group, and never back. The switch loses nothing by itself: while a port that a frame is for has no
/// room, the port that it came from is not read any further, as a lossless Ethernet does by pausing; what has
/// no peer, or a peer that takes nothing for long, is for that port to drop (see DpdkPort). Each frame is
/// copied once.
class LearningSwitch final : public Switch {
 public:
  Round run_round(Clock::time_point now) override;
  void inject(PortNumber from, std::span<const std::byte> frame, Clock::time_point now) override;

 private:
  using PortSet = std::uint64_t;  // bit N: port N
  static_assert(kMaxPorts <= 64);
  static constexpr auto kLearnAgainAfter = std::chrono::seconds(1);
  static_assert(kLearnAgainAfter < ForwardingTable::kMaxAge);

  /// Where the last frame of a port went whose destination was known. What comes next is mostly of the same
  /// two stations, and needs no look into the table.
  struct LastWay {
    std::array<std::byte, 2 * transport::wire::Mac::kBytes> addresses{};  // destination and source
    PortSet targets = 0;
    std::uint32_t generation = 0;  // of the table
    Clock::time_point until{};  // then the source is learnt again, so that the table knows that it is alive
  };

  /// What we know of a port's frames.
  struct Source {
    LastWay last_way;
    PortSet targets = 0;  // where the first frame that has not gone on still has to go; 0: not known yet
  };

  void forward_from(PortNumber number, Round& round, Clock::time_point now);
  PortSet targets_of(PortNumber from, std::span<const std::byte> frame, Clock::time_point now);
  PortSet look_up(PortNumber from, std::span<const std::byte> frame, Clock::time_point now);
  PortSet deliver_to_all(std::span<const std::byte> frame, PortSet targets);

  std::array<Source, kMaxPorts> sources_;  // by port
  PortNumber first_ = 0;  // of the next round, so that all get their turn where room is short
  Clock::time_point last_cleaning_{};
};

}  // namespace urnic::drivers
