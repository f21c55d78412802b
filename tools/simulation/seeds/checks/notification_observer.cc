// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/checks/notification_observer.h"

#include <chrono>

namespace urnic::sim {

std::optional<std::string> NotificationObserver::on_sent(HostId by, HostId to, std::uint32_t qp_number,
                                                         Time now) {
  constexpr Duration kLeast = std::chrono::microseconds(4);  // min_time_between_cnps, as cards have it
  ++sent_;
  Counts& counts = counts_[key_of(by, to)];
  if (counts.owed == 0) return "no marked packet came from there since the last CNP";
  --counts.owed;
  const auto [last, is_first] = counts.last.try_emplace(qp_number, now);
  if (!is_first && now - last->second < kLeast) return "too soon after the last one to the same queue pair";
  last->second = now;
  return std::nullopt;
}

}  // namespace urnic::sim
