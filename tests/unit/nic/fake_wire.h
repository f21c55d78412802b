// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FakeWire: a cable in memory whose two ends are packet ports.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nic/port/packet_port.h"
#include "tools/simulation/kernel/frame.h"

namespace urnic::nic {

/// Frames committed at one end can be received at the other after flush(). The wire outlives its ports.
class FakeWire {
 public:
  using Bytes = std::vector<std::byte>;

  explicit FakeWire(std::size_t max_frame_bytes, Medium medium = Medium::kEthernet)
      : max_frame_bytes_(max_frame_bytes), medium_(medium) {}

  /// The port of end 0 or 1; the two know nothing of each other but their frames.
  std::unique_ptr<PacketPort> port(std::size_t end);

  /// Hands a frame to the device at `end` as if the other one had sent it.
  void deliver(std::size_t end, const Bytes& frame, bool has_icrc = true) {
    inboxes_[end].emplace_back(frame, has_icrc);
  }

  /// The same for a run.
  void deliver_run(std::size_t end, const Bytes& run, RunShape shape) {
    inboxes_[end].emplace_back(run, false, shape);
  }

  /// Every frame that left `end`, lost ones included; a run is one.
  const std::vector<Bytes>& sent_by(std::size_t end) const { return sent_[end]; }

  /// What the ports were told of multicast groups: "end 0 joins ff02::5", "end 0 leaves ff02::5".
  std::vector<std::string> memberships;
  /// What joining a group fails with; 0: it succeeds.
  int join_error = 0;
  /// Frames for which it says true are lost.
  std::function<bool(std::size_t from, const Bytes& frame)> is_lost = [](std::size_t, const Bytes&) {
    return false;
  };
  /// Whether it is memory that both ends share, where frames may come without their ICRC.
  bool is_shared_memory = false;
  /// With shared memory: how long runs may be; 0: there are none.
  std::uint16_t run_bytes = 0;
  /// Whether the other end only waits for its turn on a processor.
  bool awaits_turn = false;
  /// How many more frames each end takes before it is full.
  std::array<std::size_t, 2> room{~std::size_t{0}, ~std::size_t{0}};
  /// The same for single stations, which have a way of their own; for either end.
  struct Way {
    std::size_t room = 0;
    bool is_stalled = false;
  };
  std::map<std::string, Way> ways;
  /// How often an end asked for room.
  std::size_t times_asked = 0;
  /// Called when an end flushes, before the frames travel.
  std::function<void(std::size_t from)> on_flush = [](std::size_t) {};
  /// Called when frames have come to an end and it is about to take them.
  std::function<void(std::size_t at)> on_receive = [](std::size_t) {};

 private:
  class Port;

  std::size_t max_frame_bytes_;
  Medium medium_;
  std::array<kernel::Inbox, 2> inboxes_;
  std::array<std::vector<Bytes>, 2> sent_;
};

}  // namespace urnic::nic
