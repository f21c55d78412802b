// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FrameLabel: what the simulator has to know of a frame that comes out of a network that knows only bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "tools/simulation/seeds/core/host_id.h"
#include "transport/time.h"

namespace urnic::sim {

/// Stands after the frame's bytes, where nothing in the network looks.
struct FrameLabel {
  HostId from{};
  HostId to{};
  bool is_damaged = false;
  transport::Time entry{};  ///< when it reached its NIC's queue

  static constexpr std::size_t kBytes = 16;

  /// The label of a frame that has one.
  static FrameLabel at_end_of(std::span<const std::byte> frame) {
    FrameLabel label;
    std::memcpy(static_cast<void*>(&label), frame.last(kBytes).data(), kBytes);
    return label;
  }
};
static_assert(sizeof(FrameLabel) == FrameLabel::kBytes && std::is_trivially_copyable_v<FrameLabel>);

inline void append(const FrameLabel& label, std::vector<std::byte>& frame) {
  frame.resize(frame.size() + FrameLabel::kBytes);
  std::memcpy(frame.data() + frame.size() - FrameLabel::kBytes, &label, FrameLabel::kBytes);
}

}  // namespace urnic::sim
