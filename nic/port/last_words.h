// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LastWords: what peers are told for a process that was killed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace urnic::nic {

/// The kernel has the connections of rdma_cm for its programs, and disconnects them when one of those is
/// killed. Here another process does it, such as the host's switch: a frame for each connection is kept where
/// that process finds it, and is sent when this one has ended and has not forgotten it.
class LastWords {
 public:
  /// The longest frame: a management datagram over IPv6, with a VLAN's tag.
  static constexpr std::size_t kMaxBytes = 352;

  /// How a frame reaches the peer.
  struct Delivery {
    std::chrono::milliseconds pause{};  ///< before it is sent again, as no answer came; 0: it has none
    bool was_sent = false;              ///< by this process, so that the first pause comes first
  };

  virtual ~LastWords() = default;

  // Both under the engine's lock; they wait for nothing.

  /// From now on that frame, as the port carries it, is the one for `key`. There may be no room: then none
  /// is.
  virtual void keep(std::uint32_t key, std::span<const std::byte> frame, Delivery delivery) = 0;
  virtual void forget(std::uint32_t key) = 0;
};

}  // namespace urnic::nic
