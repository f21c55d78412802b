// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The invariant CRC of a captured packet, computed apart from the product's own.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/conformance/check/packets/frame.h"

namespace urnic::check {

struct IcrcVerdict {
  std::uint32_t expected = 0;
  std::uint32_t seen = 0;
  bool is_right() const { return expected == seen; }
};

/// Facts 1 and 2. Nothing when the capture does not hold the whole packet, or when it has IPv6 extension
/// headers and the ICRC fits neither with nor without them. `sent_to`: the UDP port that the sender wrote, if
/// a mirror wrote another one.
std::optional<IcrcVerdict> judge_icrc(const Frame& frame, std::uint16_t sent_to = 0);

/// CRC-32 of some bytes, to tell payloads apart.
std::uint32_t digest_of(ByteView bytes);

}  // namespace urnic::check
