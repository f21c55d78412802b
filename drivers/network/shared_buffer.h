// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SharedBuffer: which ingress port and priority holds how much of a switch's memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drivers/network/topology.h"

namespace urnic::network {

/// The memory is one pool for all, beside a headroom for each lossless priority of each ingress port.
/// Admission and pause follow HPCC's switch-mmu.cc (fact A3), without its reserve: a lossless frame takes
/// from the pool while its ingress port holds no more than the XOFF threshold of it, from the headroom
/// otherwise. A frame is accounted for by its bytes without FCS.
class SharedBuffer {
 public:
  /// `profile` outlives it.
  SharedBuffer(const Profile& profile, std::size_t ports);

  /// Takes room for a frame that came in at `port`, or tells that there is none.
  bool admit(std::size_t port, std::size_t priority, std::uint64_t bytes);
  /// Gives it back. The headroom becomes free first.
  void release(std::size_t port, std::size_t priority, std::uint64_t bytes);

  /// Whether the sender at `port` must be paused, or may go on, in a priority that is lossless. One that
  /// holds nothing is not paused, however full the pool is: nothing of its own would leave, and end the
  /// pause.
  bool is_above_xoff(std::size_t port, std::size_t priority) const;
  bool is_below_xon(std::size_t port, std::size_t priority) const;

  /// Of the pool, in bytes: fixed, or alpha times what is free.
  std::uint64_t xoff_threshold(std::size_t priority) const;
  std::uint64_t pool_bytes() const { return pool_bytes_; }
  std::uint64_t used_bytes() const { return used_bytes_; }  ///< of the pool
  /// What the frames of an ingress port hold.
  std::uint64_t held_bytes(std::size_t port, std::size_t priority) const {
    return held_[port][priority].pool + held_[port][priority].headroom;
  }

 private:
  struct Held {
    std::uint64_t pool = 0;
    std::uint64_t headroom = 0;
  };

  const Profile* profile_;
  std::uint64_t pool_bytes_;
  std::uint64_t used_bytes_ = 0;
  std::vector<std::array<Held, kPriorities>> held_;
};

}  // namespace urnic::network
