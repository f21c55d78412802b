// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LostIdentification: puts back into IPv4 headers what a UDP socket has not told.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "transport/wire/icrc_identification.h"

namespace urnic::drivers {

/// A port over UDP sockets gives RoCEv2 packets with identification 0, whatever the sender's was; the ICRC
/// covers it. A capture shall show the packet as it was on the wire.
class LostIdentification {
 public:
  explicit LostIdentification(std::size_t max_packet_bytes) : copy_(max_packet_bytes) {}

  /// `packet`, or a copy that has the identification its ICRC was made with, and the header checksum that
  /// goes with it. The copy is good until the next call. A packet that is not IPv4 and RoCEv2, or damaged,
  /// comes back as it is.
  std::span<const std::byte> restore(std::span<const std::byte> packet);

 private:
  transport::wire::IcrcIdentification identifications_;
  std::vector<std::byte> copy_;
};

}  // namespace urnic::drivers
