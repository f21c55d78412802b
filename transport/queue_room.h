// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How large the rings of queues are.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace urnic::transport {

/// Rings have as many places as the next power of two.
constexpr std::uint32_t places_for(std::uint32_t requests) {
  return std::bit_ceil(std::max(requests, 1u));
}

/// How many of them a queue uses that was made for `requests`: all, unless it is to be exact.
constexpr std::uint32_t granted_requests(std::uint32_t requests, bool is_exact) {
  return is_exact ? requests : places_for(requests);
}

}  // namespace urnic::transport
