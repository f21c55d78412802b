// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Sampler: looks at a running experiment every so often.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "drivers/network/observer.h"
#include "tools/simulation/experiment/experiment.h"
#include "tools/simulation/experiment/series.h"

namespace urnic::experiment {

class Sampler final : public network::Observer {
 public:
  /// Looks every `interval`, which is not 0. The experiment has not run yet; it and the sampler live until it
  /// has.
  Sampler(Experiment& experiment, Duration interval);

  /// Those that were ever anything but 0, by metric and then by port, connection or host.
  std::vector<Series> series() const;

  void on_queue(network::PortId port, unsigned priority, std::uint64_t bytes, Time time) override;

 private:
  void sample(Duration now);
  void sample_ports(Duration now);
  void sample_connections(Duration now, double seconds);
  void sample_hosts(Duration now);
  /// `place` tells the series of one metric apart.
  void add(Metric metric, std::size_t place, Duration now, double value);
  /// How much `count` has grown since the last call for the same series.
  double growth(Metric metric, std::size_t place, std::uint64_t count);
  std::string name_of_place(Metric metric, std::size_t place) const;

  using Key = std::pair<Metric, std::size_t>;

  Experiment& experiment_;
  std::vector<std::string> connection_names_;
  std::map<Key, std::vector<Sample>> samples_;
  std::map<Key, std::uint64_t> counts_;
  std::vector<std::uint64_t> highest_;  // of each port and priority, in this interval
  Duration last_{};
};

}  // namespace urnic::experiment
