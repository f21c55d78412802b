// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Laboratory: small networks, and experiments on them that a test looks into.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/network/topology.h"
#include "tools/simulation/experiment/experiment.h"
#include "tools/simulation/experiment/sampler.h"

namespace urnic::experiment::test {

/// The file's; fails the test when it cannot be used.
network::Topology topology_of(std::string_view text);
Workload workload_of(std::string_view text, const network::Topology& topology, std::uint64_t seed = 1);

/// Of those that come with urnic.
network::Topology shipped_topology(const std::string& name);
Workload shipped_workload(const std::string& name, const network::Topology& topology);

/// What came out of one, with samples every 10 us.
struct Result {
  Outcome outcome;
  std::vector<Series> series;

  /// Of a series that may not exist: 0 all the time then. `from` and `to` are since the start.
  double mean(Metric metric, std::string_view of, Duration from, Duration to) const;
  double highest(Metric metric, std::string_view of, Duration from, Duration to) const;
  /// The value that it is not above in that share of the time.
  double quantile(Metric metric, std::string_view of, double share, Duration from, Duration to) const;

 private:
  std::vector<double> values(Metric metric, std::string_view of, Duration from, Duration to) const;
};

Result run(const network::Topology& topology, const Workload& workload, std::uint64_t seed = 1);

/// h0, h1 and so on at one switch, 100 Gb/s and 2 us each.
network::Topology star(std::size_t hosts);

/// `senders` and "receiver" at one switch, 10 Gb/s and 1 us each. DSCP 26 is lossless: XOFF at 64 KiB of one
/// sender, less than what it may have in flight. All priorities mark from 40 to 160 kB.
network::Topology incast_of(std::size_t senders);

}  // namespace urnic::experiment::test
