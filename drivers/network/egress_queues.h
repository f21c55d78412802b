// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EgressQueues: what waits at a port, by priority, and which frame goes next.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "drivers/network/frame_pool.h"
#include "drivers/network/ring.h"
#include "drivers/network/topology.h"

namespace urnic::network {

/// Strict priorities go first, the higher number before the lower. The others share the rest by deficit round
/// robin, in bytes of the wire. Paused priorities wait. A queue's bytes are its frames' bytes without FCS;
/// the frame that is being sent no longer counts.
class EgressQueues {
 public:
  struct Queued {
    Frame* frame = nullptr;
    std::uint32_t ingress = 0;  ///< the port it came in at
  };
  struct Chosen {
    unsigned priority = 0;
    Queued queued;
  };

  explicit EgressQueues(const Profile& profile);

  void push(unsigned priority, const Queued& queued);
  /// Removes the frame whose turn it is; nothing when none waits that is not paused.
  std::optional<Chosen> take();
  /// Removes the oldest one of a priority, whosever turn it is; there must be one.
  Queued take_from(unsigned priority);

  bool can_send() const { return (waiting_ & ~paused_) != 0; }
  bool is_empty(unsigned priority) const { return queues_[priority].is_empty(); }
  std::size_t frames(unsigned priority) const { return queues_[priority].size(); }
  std::uint64_t bytes(unsigned priority) const { return bytes_[priority]; }

  void set_paused(unsigned priority, bool is_paused);
  bool is_paused(unsigned priority) const { return (paused_ >> priority & 1u) != 0; }

 private:
  /// Of weight 1, in each round.
  static constexpr std::uint64_t kQuantumBytes = 2048;

  unsigned choose_by_deficit(unsigned ready);

  std::array<Ring<Queued>, kPriorities> queues_;
  std::array<std::uint64_t, kPriorities> bytes_{};
  std::array<std::uint64_t, kPriorities> deficits_{};
  std::array<std::uint64_t, kPriorities> quanta_{};
  unsigned strict_ = 0;   // bit N: priority N is
  unsigned waiting_ = 0;  // bit N: priority N has frames
  unsigned paused_ = 0;
  unsigned turn_ = 0;             // whose it is in the round
  bool has_its_quantum_ = false;  // in this round
};

}  // namespace urnic::network
