// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// TimeWait: what stays of destroyed queue pairs for a while, so that their peers' last requests come to an
// end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>

#include "nic/path/path.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"
#include "transport/wire/packet.h"

namespace urnic::nic {

/// A program destroys its queue pair when it has all it wants; its last acknowledgement may be lost, and the
/// peer then repeats a request to a queue pair that does not exist any more, until it fails with "retry
/// exceeded". So for kLifetime TimeWait acknowledges again what the queue pair had executed, and executes
/// nothing. A READ cannot be repeated.
///
/// All calls under the engine lock.
class TimeWait {
 public:
  /// Twice the ACK timeout of a peer that Linux's rdma_cm has connected (4.096 us x 2^19), and some more.
  static constexpr transport::Duration kLifetime = std::chrono::seconds(5);
  /// When there are more, the oldest goes.
  static constexpr std::size_t kMax = 4096;

  /// What a queue pair knew when it was destroyed.
  struct DestroyedQp {
    transport::QpNumber number{};
    transport::wire::Service service = transport::wire::Service::kRc;  ///< kRc or kXrc
    transport::QpNumber peer{};
    transport::Psn expected;      ///< everything before it was executed
    transport::Psn acknowledged;  ///< what an ACK names; see Endpoint::acknowledgeable_psn()
    std::uint32_t msn = 0;
    Path path;
  };

  void add(const DestroyedQp& destroyed, transport::Time now);

  /// Whether `packet`, which came in `frame`, is a request that the destroyed queue pair
  /// packet.bth.destination_qp had executed and that can be acknowledged again: then acknowledge() it.
  bool is_repeat(const transport::wire::Packet& packet, const transport::wire::Frame& frame,
                 transport::Time now) const;

  /// The way to the peer of that queue pair, which is_repeat() was asked about.
  const Path& path_of(transport::QpNumber number) const {
    return entries_.at(to_integer(number)).destroyed.path;
  }

  /// Writes the frame that acknowledges the last SEND or WRITE packet that the queue pair had executed, and
  /// all before it, and returns its size. `frame` must have room for kMaxFrameBytes. Only after is_repeat().
  std::size_t acknowledge(transport::QpNumber number, const transport::wire::Mac& to,
                          std::span<std::byte> frame);
  static constexpr std::size_t kMaxFrameBytes = 66 + 16 + Path::kIcrcBytes;
  /// Whether it ever did: a peer repeats what it has no acknowledgement of.
  bool has_acknowledged() const { return has_acknowledged_; }

 private:
  struct Entry {
    DestroyedQp destroyed;
    transport::Time until;
  };
  struct Expiry {
    transport::QpNumber number;
    transport::Time until;
  };

  std::unordered_map<std::uint32_t, Entry> entries_;  // by number; never iterated
  std::deque<Expiry> order_;                          // oldest first
  bool has_acknowledged_ = false;
};

}  // namespace urnic::nic
