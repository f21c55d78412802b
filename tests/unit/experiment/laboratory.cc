// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/experiment/laboratory.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <numeric>

#include "drivers/network/topology_file.h"
#include "tools/simulation/experiment/workload_file.h"

namespace urnic::experiment::test {

namespace {
constexpr Duration kInterval = std::chrono::microseconds(10);

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

network::Topology topology_of(std::string_view text) {
  auto topology = network::parse_topology(text);
  if (!topology) throw std::runtime_error(topology.error().message);
  return std::move(topology.value());
}

Workload workload_of(std::string_view text, const network::Topology& topology, std::uint64_t seed) {
  auto workload = parse_workload(text, topology, seed);
  if (!workload) throw std::runtime_error(workload.error().message);
  return std::move(workload.value());
}

network::Topology shipped_topology(const std::string& name) {
  return topology_of(text_of(URNIC_SHIPPED_TOPOLOGIES "/" + name + ".json"));
}

Workload shipped_workload(const std::string& name, const network::Topology& topology) {
  return workload_of(text_of(URNIC_SHIPPED_WORKLOADS "/" + name + ".json"), topology);
}

Result run(const network::Topology& topology, const Workload& workload, std::uint64_t seed) {
  Experiment experiment(topology, workload, seed);
  Sampler sampler(experiment, kInterval);
  Outcome outcome = experiment.run();
  return {.outcome = std::move(outcome), .series = sampler.series()};
}

std::vector<double> Result::values(Metric metric, std::string_view of, Duration from, Duration to) const {
  const auto found = std::find_if(series.begin(), series.end(),
                                  [&](const Series& one) { return one.metric == metric && one.of == of; });
  std::vector<double> values;
  double value = 0;
  auto next = found == series.end() ? std::vector<Sample>::const_iterator() : found->samples.begin();
  for (Duration time{}; time <= to; time += kInterval) {
    while (found != series.end() && next != found->samples.end() && next->time <= time)
      value = (next++)->value;
    if (time >= from) values.push_back(value);
  }
  return values;
}

double Result::mean(Metric metric, std::string_view of, Duration from, Duration to) const {
  const std::vector<double> all = values(metric, of, from, to);
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

double Result::highest(Metric metric, std::string_view of, Duration from, Duration to) const {
  const std::vector<double> all = values(metric, of, from, to);
  return *std::max_element(all.begin(), all.end());
}

double Result::quantile(Metric metric, std::string_view of, double share, Duration from, Duration to) const {
  std::vector<double> all = values(metric, of, from, to);
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
}

network::Topology star(std::size_t hosts) {
  std::string names;
  std::string links;
  for (std::size_t i = 0; i < hosts; ++i) {
    const char* const comma = i == 0 ? "" : ", ";
    names += fmt::format(R"({}"h{}")", comma, i);
    links += fmt::format(R"({}{{"ends": ["h{}", "switch"], "rate": "100Gb/s", "delay": "2us"}})", comma, i);
  }
  return topology_of(fmt::format(
      R"({{"profiles": [{{"name": "plain"}}], "switches": [{{"name": "switch", "profile": "plain"}}], "hosts": [{}], "links": [{}]}})",
      names, links));
}

network::Topology incast_of(std::size_t senders) {
  std::string hosts = R"("receiver")";
  std::string links = R"({"ends": ["switch", "receiver"], "rate": "10Gb/s", "delay": "1us"})";
  for (std::size_t i = 0; i < senders; ++i) {
    hosts += fmt::format(R"(, "sender{}")", i);
    links += fmt::format(R"(, {{"ends": ["sender{}", "switch"], "rate": "10Gb/s", "delay": "1us"}})", i);
  }
  return topology_of(fmt::format(R"({{"profiles": [{{"name": "marking", "priorities": {{
      "default": {{"limit": "256KiB", "ecn": {{"kmin": "40kB", "kmax": "160kB", "pmax": 0.2}}}},
      "3": {{"lossless": {{"xoff": "64KiB", "headroom": "64KiB"}}}}}}}}],
    "switches": [{{"name": "switch", "profile": "marking"}}], "hosts": [{}], "links": [{}]}})",
                                 hosts, links));
}

}  // namespace urnic::experiment::test
