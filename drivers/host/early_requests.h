// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EarlyRequests: connection requests that came before their listener.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "drivers/host/given_requests.h"
#include "nic/rdma_cm/types.h"

namespace urnic::drivers {

/// What a request is for.
struct RequestedService {
  nic::rdma_cm::PortSpace space{};
  nic::rdma_cm::SocketAddress destination;
  RequestName name;
};

/// Programs often connect a moment before their peer listens (nic/rdma_cm/early_requests.cc), so a request
/// waits for its listener. Time is an argument.
class EarlyRequests {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kMost = 256;
  static constexpr auto kPatience = std::chrono::milliseconds(200);

  struct Request {
    RequestedService service;
    std::vector<std::byte> packet;
    Time until;
  };

  /// False when there are too many.
  bool keep(const RequestedService& service, std::span<const std::byte> packet, Time now);
  /// Offers each to `take`, which says whether it took it.
  void offer(const std::function<bool(const Request&)>& take) { std::erase_if(requests_, take); }
  /// The oldest one when its time is over, which is then forgotten.
  std::optional<Request> take_due(Time now);
  /// When the next one is due.
  std::optional<Time> next_due() const;

 private:
  std::deque<Request> requests_;  // in the order in which they came
};

}  // namespace urnic::drivers
