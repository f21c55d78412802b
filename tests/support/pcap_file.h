// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Capture files for tests: Ethernet frames in and out of pcap, by libpcap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "transport/result.h"

namespace urnic::test {

/// One frame of a capture, from the destination MAC on.
struct CapturedFrame {
  std::vector<std::byte> bytes;
  std::size_t bytes_on_wire = 0;  ///< more than bytes.size() when the capture cut the frame short
  std::int64_t time_ns = 0;       ///< since 1970

  bool is_truncated() const { return bytes_on_wire > bytes.size(); }
};

/// Reads every frame of a pcap or pcapng file of link type Ethernet. Frame N of Wireshark is element N - 1.
Result<std::vector<CapturedFrame>, Error> read_pcap(const std::filesystem::path& path);

/// Writes (or replaces) a pcap file with nanosecond times.
Result<void, Error> write_pcap(const std::filesystem::path& path, std::span<const CapturedFrame> frames);

}  // namespace urnic::test
