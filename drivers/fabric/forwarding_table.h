// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ForwardingTable: at which port of a switch a MAC address was seen last.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "transport/wire/address.h"

namespace urnic::drivers {

/// Learns from the source addresses of frames, and forgets what has been silent for kMaxAge, which is the
/// default of bridges. Allocates only when it learns an address that is new. One thread.
class ForwardingTable {
 public:
  using Clock = std::chrono::steady_clock;
  using PortNumber = std::uint8_t;

  static constexpr auto kMaxAge = std::chrono::minutes(5);
  /// The table knows so many addresses at most: an uplink, or a program that makes addresses up, must not
  /// fill the memory. Frames to others are flooded.
  static constexpr std::size_t kMaxAddresses = 8192;

  ForwardingTable() { entries_.reserve(kMaxAddresses); }

  void learn(const transport::wire::Mac& mac, PortNumber port, Clock::time_point now);
  std::optional<PortNumber> find(const transport::wire::Mac& mac) const;
  /// Forgets what was last learnt more than kMaxAge before `now`.
  void forget_old(Clock::time_point now);

  /// The addresses at `port`, in the order of their octets.
  std::vector<transport::wire::Mac> addresses_behind(PortNumber port) const;
  std::size_t size() const { return entries_.size(); }
  /// Changes whenever find() may answer otherwise than before, so that answers may be kept meanwhile.
  std::uint32_t generation() const { return generation_; }

 private:
  struct Entry {
    PortNumber port;
    Clock::time_point seen;
  };

  std::unordered_map<std::uint64_t, Entry> entries_;  // by the octets of the address, the first one highest
  std::uint32_t generation_ = 0;
};

}  // namespace urnic::drivers
