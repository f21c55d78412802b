// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/kernel/virtual_port.h"

#include <cassert>
#include <utility>

namespace urnic::kernel {

std::size_t VirtualPort::receive(std::span<nic::ReceivedFrame> frames) {
  taken_.clear();
  while (taken_.size() < frames.size() && !inbox_.empty()) {
    taken_.push_back(std::move(inbox_.front()));
    inbox_.pop_front();
    on_received(taken_.back());
    ++statistics_.received_frames;
    statistics_.received_bytes += taken_.back().bytes.size();
  }
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const auto& [bytes, has_icrc, damaged] = taken_[i];
    frames[i] = has_icrc ? nic::ReceivedFrame(bytes) : nic::ReceivedFrame::without_icrc(bytes);
  }
  return taken_.size();
}

void VirtualPort::keep(std::size_t length, bool has_icrc) {
  assert(length >= 14 && length <= room_.size());
  committed_.emplace_back(std::vector(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(length)),
                          has_icrc);
}

void VirtualPort::flush() {
  for (Frame& frame : committed_) {
    ++statistics_.sent_frames;
    statistics_.sent_bytes += frame.bytes.size();
    send(std::move(frame));
  }
  committed_.clear();
}

}  // namespace urnic::kernel
