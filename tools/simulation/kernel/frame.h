// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Frame: an Ethernet frame, or an IP packet, on its way through a virtual world.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "nic/port/run_shape.h"

namespace urnic::kernel {

struct Frame {
  Frame() = default;
  Frame(std::vector<std::byte> content, bool with_icrc = true, nic::RunShape run_shape = {})
      : bytes(std::move(content)), has_icrc(with_icrc), shape(run_shape) {}

  std::vector<std::byte> bytes;
  /// False: it came through memory that both ends share, and the four bytes of its ICRC mean nothing.
  bool has_icrc = true;
  /// Of a run, which comes so only.
  nic::RunShape shape;
  /// The receiver must not accept it: bits that the ICRC protects were changed, or its end is missing.
  bool damaged = false;
};

/// Frames that have reached a host, and that its device has not taken yet.
using Inbox = std::deque<Frame>;

}  // namespace urnic::kernel
