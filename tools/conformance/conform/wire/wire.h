// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Wire: what the tester sends to the peer's queue pair, and what comes from it, with its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/time.h"

namespace urnic::conform {

/// What came from the peer for the tester's queue pair.
struct Arrival {
  transport::Time at;
  std::vector<std::byte> ib;  ///< BTH to padding
  std::string fault;          ///< empty, or what is wrong around it
  /// Of its IP header; nothing: the wire does not tell.
  std::optional<std::uint8_t> traffic_class{};
};

class Wire {
 public:
  virtual ~Wire() = default;

  virtual transport::Time now() = 0;
  /// Whether time passes in receive() alone, as the peer grants it.
  virtual bool is_in_lock_step() const { return false; }
  /// Where time passes in receive() alone: so much real time, for what a peer tells outside of the wire.
  virtual void wait_in_real_time(transport::Duration /*duration*/) {}
  /// BTH to padding; the wire adds the rest. It leaves with flush(). False: the port takes nothing.
  virtual bool send(std::span<const std::byte> ib) = 0;
  virtual void flush() = 0;
  /// Waits until that time at most; nothing came if there is none.
  virtual std::optional<Arrival> receive(transport::Time until) = 0;
};

}  // namespace urnic::conform
