// Captures as the fuzz targets that read them take them.
//
// A sequence of frames, each behind four bytes: its length and its time since the one before in units of 100
// us, both 16 bits, little-endian. The top bit of the length says that the capture cut the frame; that of the
// time, that the frame keeps the ICRC it has. All others get a right one, lest every change ends there.
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
