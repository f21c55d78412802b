// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/shared_buffer.h"

#include <algorithm>
#include <cassert>

namespace urnic::network {

SharedBuffer::SharedBuffer(const Profile& profile, std::size_t ports)
    : profile_(&profile), pool_bytes_(profile.buffer_bytes), held_(ports) {
  for (const PriorityProfile& settings : profile.priorities) {
    if (settings.lossless) pool_bytes_ -= settings.lossless->headroom_bytes * ports;
  }
}

bool SharedBuffer::admit(std::size_t port, std::size_t priority, std::uint64_t bytes) {
  Held& held = held_[port][priority];
  const auto& lossless = profile_->priorities[priority].lossless;
  const bool fits_pool = used_bytes_ + bytes <= pool_bytes_;
  if (fits_pool && (!lossless || held.pool + bytes <= xoff_threshold(priority))) {
    held.pool += bytes;
    used_bytes_ += bytes;
    return true;
  }
  if (!lossless || held.headroom + bytes > lossless->headroom_bytes) return false;
  held.headroom += bytes;
  return true;
}

void SharedBuffer::release(std::size_t port, std::size_t priority, std::uint64_t bytes) {
  Held& held = held_[port][priority];
  const std::uint64_t from_headroom = std::min(held.headroom, bytes);
  assert(held.pool >= bytes - from_headroom);
  held.headroom -= from_headroom;
  held.pool -= bytes - from_headroom;
  used_bytes_ -= bytes - from_headroom;
}

std::uint64_t SharedBuffer::xoff_threshold(std::size_t priority) const {
  const Lossless& lossless = *profile_->priorities[priority].lossless;
  if (lossless.xoff_bytes) return *lossless.xoff_bytes;
  return static_cast<std::uint64_t>(lossless.xoff_alpha * static_cast<double>(pool_bytes_ - used_bytes_));
}

bool SharedBuffer::is_above_xoff(std::size_t port, std::size_t priority) const {
  const Held& held = held_[port][priority];
  return held.headroom > 0 || (held.pool > 0 && held.pool >= xoff_threshold(priority));
}

bool SharedBuffer::is_below_xon(std::size_t port, std::size_t priority) const {
  const Held& held = held_[port][priority];
  const std::uint64_t offset = profile_->priorities[priority].lossless->xon_offset_bytes;
  return held.headroom == 0 && (held.pool == 0 || held.pool + offset <= xoff_threshold(priority));
}

}  // namespace urnic::network
