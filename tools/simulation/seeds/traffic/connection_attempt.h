// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ConnectionAttempt: an attempt to connect, and each of its ends as its program sees it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "nic/queues/queue_pair.h"
#include "nic/rdma_cm/types.h"
#include "tools/simulation/seeds/scenario/connection_plan.h"
#include "tools/simulation/seeds/traffic/host.h"

namespace urnic::sim {

struct ConnectionAttempt;

struct AttemptEnd {
  using Stage = ConnectionStage;
  struct Rejection {
    std::uint16_t reason = 0;
    nic::rdma_cm::PrivateBytes private_data{};
  };

  ConnectionAttempt& attempt;
  Side side{};  ///< the left one is active
  HostId host{};
  std::uint64_t uid = 0;
  nic::rdma_cm::IdNumber id{};
  Stage stage = Stage::kResolving;
  std::uint32_t resolutions = 0;
  std::uint32_t local_id = 0;  ///< the communication manager's
  std::uint32_t remote_id = 0;
  std::unique_ptr<nic::QueuePair> qp{};
  std::uint32_t qp_number = 0;
  Host::QpEvents qp_events{};
  nic::rdma_cm::QpSettings settings{};   ///< with which the queue pair was connected
  std::optional<Rejection> rejection{};  ///< by this side
  bool was_accepted = false;
  bool was_established = false;
  bool has_given_up = false;  ///< the peer was unreachable
  bool has_left = false;      ///< destroyed its id before the connection had ended
  bool has_failed = false;    ///< its data did not get through
  bool is_past_timewait = false;
  Time since{};  ///< of the stage
  Time asked{};  ///< when the active side called connect()
  bool is_finish_scheduled = false;
  std::size_t sent = 0;      ///< messages that completed
  std::size_t received = 0;  ///< SENDs

  bool is_active() const { return side == Side::kLeft; }
  bool is_over() const { return stage == Stage::kOver; }
};

struct ConnectionAttempt {
  ConnectionPlan plan;
  std::unique_ptr<AttemptEnd> active{};
  /// More than one only if a late duplicate of the request came when what was before had ended.
  std::vector<std::unique_ptr<AttemptEnd>> passive{};
  /// Memory that a peer may still be writing to.
  std::vector<std::pair<HostId, Range>> open{};
  bool is_second = false;  ///< with the queue pair of another

  /// The newest that is not over; null when all are.
  AttemptEnd* live_passive() const {
    const auto found =
        std::find_if(passive.rbegin(), passive.rend(), [](const auto& end) { return !end->is_over(); });
    return found == passive.rend() ? nullptr : found->get();
  }
  bool is_over() const { return active && active->is_over() && live_passive() == nullptr; }
};

}  // namespace urnic::sim
