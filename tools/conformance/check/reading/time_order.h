// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Puts frames in the order of their times, as far as a window of bounded size reaches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/conformance/check/reading/raw_frame.h"

namespace urnic::check {

/// A file with several interfaces, or of several capturing threads, has frames out of order. Frames of one
/// time stay in the order of the file.
class TimeOrder {
 public:
  static constexpr std::size_t kMostFrames = 16384;
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;

  bool is_full() const { return waiting_.size() >= kMostFrames || bytes_ >= kMostBytes; }
  /// Keeps a copy.
  void add(const RawFrame& frame);
  /// The oldest one; its bytes live until the next call.
  std::optional<RawFrame> take();

 private:
  struct Waiting {
    RawFrame frame;
    std::vector<std::byte> bytes;
  };
  struct Later {
    bool operator()(const Waiting& a, const Waiting& b) const {
      return a.frame.time_ns != b.frame.time_ns ? a.frame.time_ns > b.frame.time_ns
                                                : a.frame.number > b.frame.number;
    }
  };

  std::vector<Waiting> waiting_;  ///< a heap
  std::vector<std::byte> taken_;
  std::size_t bytes_ = 0;
};

}  // namespace urnic::check
