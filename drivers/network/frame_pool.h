// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FramePool: the bytes of frames that are inside the network.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drivers/network/frame_fields.h"
#include "drivers/network/topology.h"

namespace urnic::network {

/// Frames up to this are carried: the usual largest one of switches.
inline constexpr std::size_t kMaxFrameBytes = 9216;

/// A frame, which waits in one queue, or in several after it was flooded.
struct Frame {
  FrameFields fields;
  std::optional<HostId> host;  ///< whose it is; without, it goes to all
  std::uint32_t tree = 0;      ///< along which it goes to all: Routes::tree() at the first switch
  std::uint32_t size = 0;
  std::uint32_t references = 0;
  std::uint32_t size_class = 0;
  std::byte* memory = nullptr;  // the pool's

  std::span<std::byte> bytes() const { return {memory, size}; }
};

/// Owns frames and hands them out again. It allocates when more are inside the network than ever before.
class FramePool {
 public:
  /// A copy of `bytes`, of which there are at most kMaxFrameBytes, with one reference.
  Frame* take(std::span<const std::byte> bytes, const FrameFields& fields);
  /// Gives one reference back.
  void release(Frame* frame) {
    if (--frame->references == 0) free_[frame->size_class].push_back(frame);
  }
  /// The frame itself if nothing else refers to it; otherwise a copy, in exchange for a reference.
  Frame* make_own(Frame* frame);

  /// Frames that were taken and not given back.
  std::size_t in_use() const;

 private:
  /// Most frames are ACKs, or full at one of the usual path MTUs.
  static constexpr std::array<std::size_t, 5> kSizeClasses = {256, 1280, 2304, 4608, kMaxFrameBytes};
  /// So many are allocated at once, which is cheaper than one by one.
  static constexpr std::size_t kSlabFrames = 64;

  void add_slab(std::uint32_t size_class);

  std::deque<Frame> frames_;
  std::vector<std::unique_ptr<std::byte[]>> slabs_;
  std::array<std::vector<Frame*>, kSizeClasses.size()> free_;
};

}  // namespace urnic::network
