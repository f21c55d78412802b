// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/given_requests.h"

namespace urnic::drivers {

void GivenRequests::note(const RequestName& name, unsigned slot, Time now) {
  forget_old(now);
  if (!slots_.try_emplace(name, slot).second) return;
  if (order_.size() == kMost) {
    slots_.erase(order_.front().first);
    order_.pop_front();
  }
  order_.emplace_back(name, now + kMemory);
}

std::optional<unsigned> GivenRequests::find(const RequestName& name, Time now) {
  forget_old(now);
  const auto found = slots_.find(name);
  return found == slots_.end() ? std::nullopt : std::optional(found->second);
}

void GivenRequests::forget(unsigned slot) {
  std::erase_if(slots_, [slot](const auto& each) { return each.second == slot; });
  std::erase_if(order_, [this](const auto& each) { return !slots_.contains(each.first); });
}

void GivenRequests::forget_old(Time now) {
  while (!order_.empty() && order_.front().second <= now) {
    slots_.erase(order_.front().first);
    order_.pop_front();
  }
}

}  // namespace urnic::drivers
