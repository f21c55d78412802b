// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NotificationPoint: tells peers by CNPs that their packets came through congestion.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/config.h"
#include "nic/path/path.h"
#include "nic/queues/queue_pair.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// Facts 49 and 50. Only to connected queue pairs, whose peer is known: datagrams are counted and not
/// answered. Nothing is kept of a CNP that cannot leave now: the next marked packet brings another one.
///
/// All calls under the engine lock.
class NotificationPoint {
 public:
  explicit NotificationPoint(const DeviceConfig& config) : config_(config) {}

  /// A marked packet came from the peer of `qp`, which is connected. Whether a CNP is due: write() it, and
  /// then on_sent().
  bool is_due(const QueuePair& qp, transport::Time now) const;
  void on_sent(QueuePair& qp, transport::Time now);

  /// Writes the frame and returns its size. `frame` must have room for kMaxFrameBytes.
  std::size_t write(QueuePair& qp, const transport::wire::Mac& to, std::span<std::byte> frame) const;
  static constexpr std::size_t kMaxFrameBytes = 66 + 28 + Path::kIcrcBytes;

 private:
  /// When the next CNP may go to an address. Two that share a place are spaced as one: their CNPs are further
  /// apart.
  static constexpr std::size_t kPlaces = 256;
  static std::size_t place_of(const transport::wire::Gid& peer);

  const DeviceConfig& config_;
  std::array<transport::Time, kPlaces> next_of_address_{};
};

}  // namespace urnic::nic
