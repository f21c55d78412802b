// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Outcome: how an experiment ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "drivers/network/counters.h"
#include "tools/simulation/experiment/workload.h"

namespace urnic::experiment {

struct JobOutcome {
  std::string name;
  std::size_t steps = 0;     ///< that send something
  std::size_t finished = 0;  ///< of them
  std::uint64_t bytes = 0;   ///< that have arrived, of payload
  Duration began{};          ///< its first step, since the start of the experiment
  Duration ended{};          ///< its last completion, or the end of the experiment
  /// From when a step could begin to its completion: of the finished ones, the shortest first.
  std::vector<Duration> completion_times;
  /// Jain's index of the rates of the steps, 1/n to 1: what each carried by the time that it took. 0 without
  /// any.
  double fairness = 0;

  double goodput_bps() const;
  /// `share` 0 to 1; zero without any that is finished.
  Duration completion_time(double share) const;
};

/// What all queue pairs together have met.
struct TransportOutcome {
  std::uint64_t sequence_naks = 0;  ///< packet_seq_err
  std::uint64_t timeouts = 0;       ///< local_ack_timeout_err
  std::uint64_t duplicates = 0;     ///< duplicate_request
  std::uint64_t marked = 0;         ///< np_ecn_marked_roce_packets
  std::uint64_t cnps_sent = 0;      ///< np_cnp_sent
  std::uint64_t cnps_handled = 0;   ///< rp_cnp_handled
};

struct PortOutcome {
  std::string name;
  unsigned priority = 0;
  network::PriorityCounters counters;
};

struct Outcome {
  Duration time{};       ///< how long it lasted, virtual
  bool is_over = false;  ///< all steps are finished
  std::string failure;   ///< a work request that failed, and why; empty: none
  std::vector<JobOutcome> jobs;
  TransportOutcome transport;
  std::vector<PortOutcome> ports;     ///< with traffic, losses or pauses
  std::uint64_t packet_hops = 0;      ///< frames sent by all ports of the network
  std::uint64_t trace_hash = 0;       ///< equal for equal runs: of every frame, where and when it was sent
  std::vector<std::string> faults{};  ///< what the faults hit, for people

  network::PriorityCounters total() const;
};

}  // namespace urnic::experiment
