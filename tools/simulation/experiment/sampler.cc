// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/sampler.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace urnic::experiment {
namespace {

constexpr std::size_t queue_place(std::size_t port, unsigned priority) {
  return port * network::kPriorities + priority;
}

}  // namespace

Sampler::Sampler(Experiment& experiment, Duration interval)
    : experiment_(experiment), highest_(experiment.network().port_count() * network::kPriorities) {
  const network::Topology& topology = experiment.network().topology();
  for (const auto& connection : experiment.connections()) {
    const Connection::Ends& ends = connection->ends();
    connection_names_.push_back(fmt::format("{}->{}",
                                            topology.hosts[static_cast<std::size_t>(ends.host)].name,
                                            topology.hosts[static_cast<std::size_t>(ends.peer)].name));
    // One more between the same hosts: with another DSCP.
    if (std::count(connection_names_.begin(), connection_names_.end(), connection_names_.back()) > 1) {
      connection_names_.back() += fmt::format(" (DSCP {})", ends.dscp);
    }
  }
  experiment.add_watcher(*this);
  experiment.sample_every(interval, [this](Duration now) { sample(now); });
}

void Sampler::on_queue(network::PortId port, unsigned priority, std::uint64_t bytes, Time) {
  std::uint64_t& highest = highest_[queue_place(static_cast<std::size_t>(port), priority)];
  highest = std::max(highest, bytes);
}

void Sampler::sample(Duration now) {
  const double seconds = static_cast<double>((now - last_).count()) / 1e9;
  sample_ports(now);
  sample_connections(now, seconds);
  sample_hosts(now);
  last_ = now;
}

void Sampler::sample_ports(Duration now) {
  const network::Network& network = experiment_.network();
  for (std::size_t port = 0; port < network.port_count(); ++port) {
    const network::PortCounters counters = network.counters(network::PortId(port));
    for (unsigned priority = 0; priority < network::kPriorities; ++priority) {
      const std::size_t place = queue_place(port, priority);
      const network::PriorityCounters& one = counters[priority];
      add(Metric::kQueueBytes, place, now, static_cast<double>(highest_[place]));
      highest_[place] = network.queue_bytes(network::PortId(port), priority);
      add(Metric::kMarks, place, now, growth(Metric::kMarks, place, one.marked_frames));
      add(Metric::kDrops, place, now, growth(Metric::kDrops, place, one.all_dropped()));
      const auto paused = static_cast<std::uint64_t>(one.paused_time.count());
      add(Metric::kPausedUs, place, now, growth(Metric::kPausedUs, place, paused) / 1e3);
    }
  }
}

void Sampler::sample_connections(Duration now, double seconds) {
  for (std::size_t i = 0; i < experiment_.connections().size(); ++i) {
    const Connection& connection = *experiment_.connections()[i];
    const nic::QueuePairSnapshot qp = connection.snapshot();
    add(Metric::kInFlight, i, now, qp.progress.packets_in_flight);
    add(Metric::kRetries, i, now, growth(Metric::kRetries, i, qp.progress.retries));
    const double bytes = growth(Metric::kGoodput, i, connection.acknowledged_bytes(qp));
    add(Metric::kGoodput, i, now, seconds > 0 ? bytes * 8 / seconds : 0);
    if (!qp.congestion) continue;
    const auto& [rate, window] = qp.congestion->allowance;
    if (rate != transport::congestion::kUnlimited) add(Metric::kRate, i, now, static_cast<double>(rate));
    if (window != transport::congestion::kUnlimitedBytes) add(Metric::kWindowBytes, i, now, window);
    add(Metric::kRoundTripUs, i, now, static_cast<double>(qp.congestion->round_trip.count()) / 1e3);
  }
}

void Sampler::sample_hosts(Duration now) {
  for (std::size_t host = 0; host < experiment_.network().topology().hosts.size(); ++host) {
    const nic::Device* const device = experiment_.device(HostId(host));
    if (device == nullptr) continue;
    for (const auto& [name, value] : device->all_counters()) {
      if (name == "np_cnp_sent") add(Metric::kCnpsSent, host, now, growth(Metric::kCnpsSent, host, value));
      if (name == "rp_cnp_handled") {
        add(Metric::kCnpsHandled, host, now, growth(Metric::kCnpsHandled, host, value));
      }
    }
  }
}

void Sampler::add(Metric metric, std::size_t place, Duration now, double value) {
  const auto found = samples_.find({metric, place});
  if (found == samples_.end() && value == 0) return;
  std::vector<Sample>& samples = samples_[{metric, place}];
  if (samples.empty() && now > Duration{}) samples.push_back({});
  if (samples.empty() || samples.back().value != value) samples.push_back({.time = now, .value = value});
}

double Sampler::growth(Metric metric, std::size_t place, std::uint64_t count) {
  std::uint64_t& before = counts_[{metric, place}];
  return static_cast<double>(count - std::exchange(before, count));
}

std::string Sampler::name_of_place(Metric metric, std::size_t place) const {
  using enum Metric;
  const network::Network& network = experiment_.network();
  switch (metric) {
    case kQueueBytes:
    case kMarks:
    case kDrops:
    case kPausedUs:
      return fmt::format("{}/{}", network.name_of(network::PortId(place / network::kPriorities)),
                         place % network::kPriorities);
    case kCnpsSent:
    case kCnpsHandled:
      return network.topology().hosts[place].name;
    default:
      return connection_names_[place];
  }
}

std::vector<Series> Sampler::series() const {
  std::vector<Series> all;
  for (const auto& [key, samples] : samples_) {
    all.push_back({.metric = key.first, .of = name_of_place(key.first, key.second), .samples = samples});
  }
  return all;
}

}  // namespace urnic::experiment
