// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Run: packets that follow each other in one message, as one packet longer than the path MTU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "transport/types.h"
#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

namespace urnic::transport::wire {

/// A run is written and read as one packet whose payload is all of theirs, and has the opcode of its place in
/// the message: a whole message is an ONLY, the beginning of one a FIRST. Its PSN is the first packet's; the
/// request for an ACK, the solicited event and the padding are the last packet's. Each packet but the last
/// fills the path MTU.
///
/// Two NICs that share memory send each other runs, where a packet costs the same whatever it carries. On
/// wires and in captures there are none.
class Run {
 public:
  /// Whether packets of this operation and service can be in a run: its messages can have several.
  static bool can_hold(Opcode opcode) { return info(at_position(opcode, Position::kMiddle)).exists(); }
  /// The bytes of the packets of a run, each from the BTH to the last byte of padding, where the run itself
  /// has `size`.
  static std::size_t bytes_of_packets(Opcode opcode, std::size_t size, std::uint32_t packets);

  /// `whole`, whose opcode it can_hold(), outlives this. With a payload of the path MTU or less it stands for
  /// itself.
  Run(const Packet& whole, PathMtu mtu)
      : whole_(whole),
        mtu_(mtu),
        packets_(static_cast<std::uint32_t>(std::max<std::size_t>(whole.payload.size(), 1) - 1) / bytes(mtu) +
                 1) {}

  const Packet& whole() const { return whole_; }
  PathMtu mtu() const { return mtu_; }
  std::uint32_t packets() const { return packets_; }
  Psn last_psn() const { return whole_.bth.psn + (packets_ - 1); }

  /// One of its packets, as the parser would hand it over.
  Packet packet(std::uint32_t index) const;

 private:
  const Packet& whole_;
  const PathMtu mtu_;
  const std::uint32_t packets_;
};

}  // namespace urnic::transport::wire
