// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/connection_watch.h"

#include <chrono>

#include "nic/diagnostics/failure_report.h"

namespace urnic::nic {

using rdma_cm::ConnectionFailure;

void ConnectionWatch::on_connection_failure(const ConnectionFailure& failure) {
  const transport::Time now = clock_.now();
  const bool is_unwanted = failure.kind == ConnectionFailure::Kind::kRefused ||
                           failure.kind == ConnectionFailure::Kind::kBacklogFull;
  if (is_unwanted) {
    if (last_unwanted_ && now - *last_unwanted_ < std::chrono::seconds(1)) return;
    last_unwanted_ = now;
  }
  FailureReport report{.kind = FailureReport::Kind::kConnection, .at = now, .connection = failure};
  if (const Neighbor* const neighbor = neighbors_.find(failure.peer.address)) {
    report.neighbor = neighbor->state;
    report.neighbor_mac = neighbor->mac;
  }
  report.link_mtu = std::min(config_.link_mtu, config_.usual_way_mtu);
  log_.add(report);
}

}  // namespace urnic::nic
