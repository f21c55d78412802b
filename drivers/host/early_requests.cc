// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/early_requests.h"

#include <utility>

namespace urnic::drivers {

bool EarlyRequests::keep(const RequestedService& service, std::span<const std::byte> packet, Time now) {
  if (requests_.size() >= kMost) return false;
  requests_.push_back(
      {.service = service, .packet = {packet.begin(), packet.end()}, .until = now + kPatience});
  return true;
}

std::optional<EarlyRequests::Request> EarlyRequests::take_due(Time now) {
  if (requests_.empty() || now < requests_.front().until) return std::nullopt;
  Request due = std::move(requests_.front());
  requests_.pop_front();
  return due;
}

std::optional<EarlyRequests::Time> EarlyRequests::next_due() const {
  return requests_.empty() ? std::nullopt : std::optional(requests_.front().until);
}

}  // namespace urnic::drivers
