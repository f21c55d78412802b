// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CounterWatch: which counters have changed since the last look.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "nic/diagnostics/device_counters.h"
#include "transport/counters.h"

namespace urnic::nic {

/// Under the engine lock, whose holder counts.
class CounterWatch {
 public:
  CounterWatch(const transport::Counters& counters, const DeviceCounters& drops)
      : counters_(counters), drops_(drops) {}

  /// The names of those that changed, without those that every packet changes.
  std::vector<std::string_view> take_changed();

 private:
  const transport::Counters& counters_;
  const DeviceCounters& drops_;
  std::array<std::uint64_t, transport::count_of<transport::Counter>()> last_{};
  std::array<std::uint64_t, transport::count_of<DeviceCounter>()> last_drops_{};
};

}  // namespace urnic::nic
