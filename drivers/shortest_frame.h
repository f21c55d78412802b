// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The shortest Ethernet frame that ports put on a medium.
#pragma once

#include <cstddef>

namespace urnic::drivers {

/// In bytes, without its checksum, as drivers see it; shorter ones are padded with zeros.
inline constexpr std::size_t kShortestFrame = 60;

}  // namespace urnic::drivers
