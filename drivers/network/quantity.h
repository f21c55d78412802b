// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Quantities with their unit, as people write them: "100Gb/s", "1us", "64KiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "transport/time.h"

namespace urnic::network {

/// Bits per second: a decimal number and b/s, kb/s, Mb/s, Gb/s or Tb/s (powers of 1000). Nothing when `text`
/// is anything else, has a space, or is no whole number of bits per second.
std::optional<std::uint64_t> parse_rate(std::string_view text);

/// A decimal number and ns, us, ms or s; likewise, of whole nanoseconds.
std::optional<transport::Duration> parse_duration(std::string_view text);

/// A decimal number and B, kB, MB, GB (powers of 1000), KiB, MiB or GiB (powers of 1024); likewise, of whole
/// bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace urnic::network
