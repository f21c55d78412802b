// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The form in which fuzz targets take captures.
//
// A sequence of frames. Four bytes precede each frame: its length, and its time since the frame before in
// units of 100 us, both 16 bits, little-endian. The top bit of the length says that the capture cut the
// frame; the top bit of the time says that the frame keeps its ICRC. All other frames get a right one, so
// that a changed frame is not refused for its ICRC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tools/conformance/check/capture_reader.h"

namespace urnic::fuzz {

/// Hands over the frames one after another, each in memory of exactly its size.
void for_each_frame(const std::uint8_t* data, std::size_t size,
                    const std::function<void(const check::RawFrame&)>& take);

}  // namespace urnic::fuzz
