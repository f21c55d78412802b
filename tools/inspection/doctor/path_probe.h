// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the way to another host carries: `urnic doctor --peer` asks, `urnic doctor --answer` answers.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "transport/result.h"

namespace urnic::tools {

struct PathFacts {
  std::string peer;     ///< as the user named it
  std::string address;  ///< of it; empty: the name leads nowhere
  std::string error;    ///< why there is nothing more to say; empty otherwise
  bool is_answered = false;
  bool is_refused = false;   ///< the host says that no socket has the port
  unsigned bytes_there = 0;  ///< the largest IP packet that gets there whole
  unsigned bytes_back = 0;   ///< and back, of those that get there
  double round_trip_us = 0;  ///< of the fastest small packet
  std::string sent_from{};   ///< our address and port
  std::string seen_as{};     ///< what the peer sees in their place; empty where it sees these

  friend bool operator==(const PathFacts&, const PathFacts&) = default;
};

/// The sizes that are tried: 80 bytes of headers around the smallest path MTU, 256 (fact 41), and the largest
/// --mtu of a NIC.
inline constexpr std::size_t kLeastPacketBytes = 336;
inline constexpr std::size_t kMostPacketBytes = 9600;

/// The largest size from `least` on, `most` at most, of which `gets_through` says yes, which it does for all
/// smaller ones as well; 0 when it says no of `least`. Asks for some 15 sizes, `most` first.
std::size_t largest_that(std::size_t least, std::size_t most,
                         const std::function<bool(std::size_t)>& gets_through);

/// Asks. Takes up to a few seconds where packets get lost on the way, a second where no doctor answers.
PathFacts probe_path(const std::string& host);

/// Answers probes on the RoCE port of all addresses, IPv4 and IPv6, until the process ends; returns only with
/// an error, for a person. Calls `ready` when it can be asked. Sends no more bytes than it gets, and a
/// receipt.
Error answer_probes(const std::function<void()>& ready);

}  // namespace urnic::tools
