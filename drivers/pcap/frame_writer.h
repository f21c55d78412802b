// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FrameWriter: a capture file, whatever its format.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "drivers/pcap/capture_file.h"

namespace urnic::drivers {

enum class FrameDirection : std::uint8_t { kReceived, kSent };

/// Blocks only where the file does, and allocates nothing.
class FrameWriter {
 public:
  /// Longer frames are cut to this.
  static constexpr std::size_t kSnapBytes = 262144;

  explicit FrameWriter(std::unique_ptr<CaptureFile> file) : file_(std::move(file)) {}
  virtual ~FrameWriter() = default;

  /// Adds a frame; `time` since 1970. A format that has no room for comments leaves `comment` out.
  virtual void add(std::span<const std::byte> frame, std::chrono::nanoseconds time, FrameDirection direction,
                   std::string_view comment) = 0;

  CaptureFile& file() { return *file_; }
  const CaptureFile& file() const { return *file_; }

 private:
  std::unique_ptr<CaptureFile> file_;
};

}  // namespace urnic::drivers
