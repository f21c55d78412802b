// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Frames that have to do with congestion, put together byte by byte: CNPs, marked packets, pause frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/unit/check/capture_edit.h"
#include "tools/conformance/check/packets/link_frame.h"

namespace urnic::check::test {

/// Inserts a CNP after frame `behind`. It goes where frame `like` goes, an ACK: the server's first one in
/// vs_sizes.
std::size_t insert_cnp(Capture& capture, std::size_t behind, std::int64_t after_ns = 1000,
                       std::size_t like = 2);

/// Makes the ECN of a frame "congestion experienced".
void mark(Capture& capture, std::size_t number);

/// 802.1Qbb: priorities, and how many quanta each shall pause.
CapturedFrame pause_frame(const Mac& from, const std::vector<std::pair<unsigned, std::uint16_t>>& quanta,
                          std::int64_t time_ns);
/// 802.3x.
CapturedFrame pause_of_all(const Mac& from, std::uint16_t quanta, std::int64_t time_ns);

/// A UC SEND, of which each number has a PSN of its own, between two hosts on Ethernet.
struct Datagram {
  Mac from;
  Mac to;
  std::uint8_t dscp = 26;
  std::int64_t time_ns = 0;
  std::uint32_t number = 0;
  std::size_t bytes = 1000;  ///< of payload, a multiple of four
};
CapturedFrame frame_of(const Datagram& datagram);

}  // namespace urnic::check::test
