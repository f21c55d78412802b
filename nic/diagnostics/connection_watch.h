// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ConnectionWatch: reports why connections are not made.
#pragma once

#include <optional>

#include "nic/clock.h"
#include "nic/config.h"
#include "nic/diagnostics/failure_log.h"
#include "nic/path/neighbor_cache.h"
#include "nic/rdma_cm/connection_failure.h"
#include "transport/time.h"

namespace urnic::nic {

/// Exists for devices that are to explain failures. All calls under the engine lock.
class ConnectionWatch final : public rdma_cm::ConnectionObserver {
 public:
  /// All outlive it.
  ConnectionWatch(const DeviceConfig& config, const Clock& clock, const NeighborCache& neighbors,
                  FailureLog& log)
      : config_(config), clock_(clock), neighbors_(neighbors), log_(log) {}

  /// Of requests that peers make and we do not take, one is reported each second: a peer may go on without
  /// end.
  void on_connection_failure(const rdma_cm::ConnectionFailure& failure) override;

 private:
  const DeviceConfig& config_;
  const Clock& clock_;
  const NeighborCache& neighbors_;
  FailureLog& log_;
  std::optional<transport::Time> last_unwanted_{};
};

}  // namespace urnic::nic
