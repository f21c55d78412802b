// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <algorithm>
#include <string_view>

#include "tools/simulation/experiment/experiment.h"

namespace urnic::experiment {
namespace {

constexpr std::pair<std::string_view, std::uint64_t TransportOutcome::*> kTransportCounters[] = {
    {"packet_seq_err", &TransportOutcome::sequence_naks},
    {"local_ack_timeout_err", &TransportOutcome::timeouts},
    {"duplicate_request", &TransportOutcome::duplicates},
    {"np_ecn_marked_roce_packets", &TransportOutcome::marked},
    {"np_cnp_sent", &TransportOutcome::cnps_sent},
    {"rp_cnp_handled", &TransportOutcome::cnps_handled},
};

/// (sum of x)^2 / (n * sum of x^2)
double jain_index(const std::vector<double>& rates) {
  double sum = 0;
  double squares = 0;
  for (const double rate : rates) {
    sum += rate;
    squares += rate * rate;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(rates.size()) * squares) : 0;
}

}  // namespace

Outcome Experiment::outcome() const {
  return {.time = now(),
          .is_over = tracker_.is_over(),
          .failure = failure_,
          .jobs = job_outcomes(),
          .transport = transport_outcome(),
          .ports = port_outcomes(),
          .packet_hops = watchers_.frames(),
          .trace_hash = watchers_.hash()};
}

std::vector<JobOutcome> Experiment::job_outcomes() const {
  std::vector<JobOutcome> jobs(workload_.jobs.size());
  std::vector<std::vector<double>> rates(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].name = workload_.jobs[i].name;
    jobs[i].began = now();
  }
  for (std::size_t i = 0; i < workload_.steps.size(); ++i) {
    const Step& step = workload_.steps[i];
    if (step.operation == Operation::kCompute) continue;
    JobOutcome& job = jobs[step.job];
    ++job.steps;
    job.bytes += done_bytes_[i];
    const auto begun = tracker_.begun(i);
    if (!begun) continue;
    const auto completed = tracker_.completed(i);
    const Duration took = completed.value_or(now()) - *begun;
    job.began = std::min(job.began, *begun);
    job.ended = std::max(job.ended, completed.value_or(now()));
    if (completed) {
      ++job.finished;
      job.completion_times.push_back(took);
    }
    if (took > Duration{}) {
      rates[step.job].push_back(static_cast<double>(done_bytes_[i]) / static_cast<double>(took.count()));
    }
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    JobOutcome& job = jobs[i];
    std::sort(job.completion_times.begin(), job.completion_times.end());
    job.fairness = jain_index(rates[i]);
  }
  return jobs;
}

TransportOutcome Experiment::transport_outcome() const {
  TransportOutcome sum;
  for (const auto& machine : machines_) {
    if (machine == nullptr) continue;
    for (const auto& [name, value] : machine->device().all_counters()) {
      for (const auto& [counter, member] : kTransportCounters) {
        if (name == counter) sum.*member += value;
      }
    }
  }
  return sum;
}

std::vector<PortOutcome> Experiment::port_outcomes() const {
  std::vector<PortOutcome> ports;
  for (std::size_t i = 0; i < network_.port_count(); ++i) {
    const network::PortCounters counters = network_.counters(network::PortId(i));
    for (unsigned priority = 0; priority < network::kPriorities; ++priority) {
      const network::PriorityCounters& one = counters[priority];
      if (one.sent_frames == 0 && one.all_dropped() == 0 && one.pauses_sent == 0) continue;
      ports.push_back({.name = network_.name_of(network::PortId(i)), .priority = priority, .counters = one});
    }
  }
  return ports;
}

}  // namespace urnic::experiment
