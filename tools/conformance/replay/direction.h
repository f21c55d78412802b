// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// One direction of a connection: the requests of one side and the answers to them, in the order of the
// capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/conformance/replay/capture.h"

namespace urnic::replay {

/// A PSN counted on beyond 24 bits, so that the numbers of a direction have an order: the first request's is
/// its PSN.
using ExtendedPsn = std::int64_t;

check::Psn psn_of(ExtendedPsn psn);
/// The extended PSN for `psn` that is nearest to `reference`.
ExtendedPsn extended_psn_near(ExtendedPsn reference, check::Psn psn);

/// A packet of a direction.
struct Event {
  const CapturedPacket* packet = nullptr;
  ExtendedPsn psn = 0;
  bool is_request = false;
};

struct Direction {
  check::Service service = check::Service::kRc;
  std::string name{};              ///< "10.0.0.1 qp 0x000011 > 10.0.0.2 qp 0x000012"
  std::uint32_t requester_qp = 0;  ///< 0 when nothing in the capture tells
  std::uint32_t responder_qp = 0;
  std::uint32_t path_mtu = 1024;  ///< bytes
  std::vector<Event> events{};
  std::size_t packets = 0;  ///< of it in the capture; events has those that can be played
  std::size_t requests = 0;
  std::size_t answers = 0;
  std::vector<std::string> notes{};  ///< what was left out of it, and what was assumed
  std::string obstacle{};            ///< why none of it can be played; empty if it can

  /// PSNs that a READ of `length` bytes takes.
  std::int64_t packets_for(std::uint64_t length) const;
};

/// Everything that one end asked of another, in the order of the first requests. CNPs belong to no direction.
std::vector<Direction> directions_of(const Capture& capture);
/// What is in no direction, in lines for people: answers without requests, congestion notifications.
std::vector<std::string> unplayed_of(const Capture& capture);

}  // namespace urnic::replay
