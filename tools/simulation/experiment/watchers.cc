// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/watchers.h"

#include <algorithm>

#include "drivers/network/random.h"

namespace urnic::experiment {
namespace {

/// The end of a frame has its ICRC, which stands for all the rest.
std::uint64_t last_bytes(std::span<const std::byte> frame) {
  std::uint64_t value = 0;
  for (const std::byte byte : frame.last(std::min<std::size_t>(frame.size(), 8))) {
    value = value << 8 | std::to_integer<std::uint64_t>(byte);
  }
  return value;
}

}  // namespace

void Watchers::on_send(PortId port, std::span<const std::byte> frame, Time time) {
  ++frames_;
  for (const std::uint64_t value :
       {static_cast<std::uint64_t>(port), static_cast<std::uint64_t>(frame.size()),
        static_cast<std::uint64_t>(time.time_since_epoch().count()), last_bytes(frame)}) {
    hash_ = network::spread(hash_ ^ network::spread(value));
  }
  for (auto* watcher : watchers_) watcher->on_send(port, frame, time);
}

}  // namespace urnic::experiment
