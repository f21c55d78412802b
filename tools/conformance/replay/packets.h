// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Packets of ours beside captured ones: as text, and what differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/conformance/check/packets/packet.h"
#include "tools/conformance/replay/capture.h"
#include "tools/conformance/replay/outcome.h"

namespace urnic::replay {

/// A packet that our stack made, read by the checker's parser: a misreading of ours is not shared.
class OwnPacket {
 public:
  /// `ib` is BTH to padding.
  explicit OwnPacket(std::span<const std::byte> ib);

  std::span<const std::byte> ib() const { return std::span(bytes_).first(bytes_.size() - check::kIcrcBytes); }
  const check::Packet& packet() const { return packet_; }

 private:
  std::vector<std::byte> bytes_;  // with room for an ICRC, which the replay does not look at
  check::Packet packet_;
};

/// "RC SEND Only 303 100 B A": opcode, PSN, bytes, MSN of answers, A for AckReq.
std::string describe(const check::Packet& packet);

/// The field in which two packets differ, and its bytes in hex.
struct Difference {
  std::string field;
  std::string captured;
  std::string ours;
};
std::string to_string(const Difference& difference);

/// The first byte in which `ours` differs from the captured packet, except MigReq, reserved bits and, of
/// requests, AckReq; of answers, credits. `msn_offset` is what the captured MSN is ahead of ours. The
/// deviations that were used are counted in `outcome` if nothing else differs and it is not null.
std::optional<Difference> find_difference(const CapturedPacket& captured, const OwnPacket& ours,
                                          std::uint32_t msn_offset, Outcome* outcome);

}  // namespace urnic::replay
