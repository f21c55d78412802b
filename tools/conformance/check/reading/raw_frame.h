// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// One frame of a capture, as it was recorded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/conformance/check/packets/byte_view.h"
#include "tools/conformance/check/packets/frame.h"

namespace urnic::check {

/// The bytes are the reader's and live until the next frame is read.
struct RawFrame {
  ByteView bytes;                            ///< as far as captured
  std::size_t wire_bytes = 0;                ///< more than bytes.size() when the capture cut the frame short
  std::int64_t time_ns = 0;                  ///< since 1970
  std::uint64_t number = 0;                  ///< from 1 on, as Wireshark counts
  LinkType link_type = LinkType::kEthernet;  ///< of its interface; may be one that cannot be read
};

/// What a reader of one format has for the next frame.
enum class ReadResult : std::uint8_t { kFrame, kEnd, kDamage };

}  // namespace urnic::check
