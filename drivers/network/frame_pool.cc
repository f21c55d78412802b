// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/frame_pool.h"

#include <cassert>
#include <cstring>

namespace urnic::network {

Frame* FramePool::take(std::span<const std::byte> bytes, const FrameFields& fields) {
  assert(bytes.size() <= kMaxFrameBytes);
  std::uint32_t size_class = 0;
  while (kSizeClasses[size_class] < bytes.size()) ++size_class;
  std::vector<Frame*>& free = free_[size_class];
  if (free.empty()) add_slab(size_class);
  Frame* const frame = free.back();
  free.pop_back();
  frame->fields = fields;
  frame->host.reset();
  frame->size = static_cast<std::uint32_t>(bytes.size());
  frame->references = 1;
  if (!bytes.empty()) std::memcpy(frame->memory, bytes.data(), bytes.size());
  return frame;
}

void FramePool::add_slab(std::uint32_t size_class) {
  const std::size_t size = kSizeClasses[size_class];
  slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(size * kSlabFrames));
  for (std::size_t i = 0; i < kSlabFrames; ++i) {
    Frame& added = frames_.emplace_back();
    added.size_class = size_class;
    added.memory = slabs_.back().get() + i * size;
    free_[size_class].push_back(&added);
  }
}

Frame* FramePool::make_own(Frame* frame) {
  if (frame->references == 1) return frame;
  Frame* const copy = take(frame->bytes(), frame->fields);
  copy->host = frame->host;
  copy->tree = frame->tree;
  release(frame);
  return copy;
}

std::size_t FramePool::in_use() const {
  std::size_t free = 0;
  for (const auto& frames : free_) free += frames.size();
  return frames_.size() - free;
}

}  // namespace urnic::network
