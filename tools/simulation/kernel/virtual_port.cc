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
    statistics_.received_frames += taken_.back().shape.packets;
    statistics_.received_bytes += taken_.back().bytes.size();
  }
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const auto& [bytes, has_icrc, shape, damaged] = taken_[i];
    if (shape.is_run()) {
      frames[i] = nic::ReceivedFrame::run(bytes, shape);
    } else {
      frames[i] = has_icrc ? nic::ReceivedFrame(bytes) : nic::ReceivedFrame::without_icrc(bytes);
    }
  }
  return taken_.size();
}

void VirtualPort::keep(std::size_t length, bool has_icrc, nic::RunShape shape) {
  assert(length >= 14 && length <= (shape.is_run() ? room_.size() : max_frame_bytes_));
  committed_.emplace_back(std::vector(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(length)),
                          has_icrc, shape);
}

void VirtualPort::flush() {
  for (Frame& frame : committed_) {
    statistics_.sent_frames += frame.shape.packets;
    statistics_.sent_bytes += frame.bytes.size();
    send(std::move(frame));
  }
  committed_.clear();
}

}  // namespace urnic::kernel
