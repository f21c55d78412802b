// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/bench/bench_port.h"

#include <cstddef>

namespace urnic::drivers {

std::size_t BenchPort::receive(std::span<nic::ReceivedFrame> frames) {
  const std::size_t count = link_->receive(frames);
  statistics_.received_frames += count;
  for (const nic::ReceivedFrame& frame : frames.first(count)) statistics_.received_bytes += frame.size();
  return count;
}

nic::Room BenchPort::reserve_to(const transport::wire::Mac& /*destination*/) {
  const std::span<std::byte> room = link_->reserve();
  return room.empty() ? nic::Room() : nic::Room(room);
}

void BenchPort::commit(std::size_t length) {
  if (!link_->commit(length)) {
    ++statistics_.dropped_frames;
    return;
  }
  ++statistics_.sent_frames;
  statistics_.sent_bytes += length;
}

}  // namespace urnic::drivers
