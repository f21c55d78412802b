// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a hostile network does to the bytes of a frame.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tools/simulation/kernel/frame.h"
#include "tools/simulation/seeds/core/random.h"

namespace urnic::sim {

using kernel::Frame;

/// Where the BTH begins; nothing for a frame that is not UDP in IPv4 or IPv6.
std::optional<std::size_t> bth_offset(std::span<const std::byte> frame);

/// Flips one bit that the ICRC protects, and perhaps others. The frame must have a BTH.
void corrupt(Frame& frame, Random& random);
/// Takes bytes away at the end.
void truncate(Frame& frame, Random& random);
/// Adds bytes after the IP packet, which are harmless (fact 4).
void pad(Frame& frame, Random& random);
/// Sets ECN to CE, as a congested switch does; the IPv4 header checksum is mended.
void mark_congestion(Frame& frame);

}  // namespace urnic::sim
