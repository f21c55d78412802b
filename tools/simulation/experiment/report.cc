// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace urnic::experiment {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPortsShown = 12;

std::string text_of(Duration time) {
  const auto ns = static_cast<double>(time.count());
  if (ns < 1e3) return fmt::format("{} ns", time.count());
  if (ns < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
  return fmt::format("{:.6g} s", ns / 1e9);
}

std::string bytes_text(std::uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (number < 1e3) return fmt::format("{} B", bytes);
  if (number < 1e6) return fmt::format("{:.4g} kB", number / 1e3);
  if (number < 1e9) return fmt::format("{:.4g} MB", number / 1e6);
  return fmt::format("{:.4g} GB", number / 1e9);
}

std::string rate_text(double bps) {
  return bps < 1e9 ? fmt::format("{:.4g} Mb/s", bps / 1e6) : fmt::format("{:.4g} Gb/s", bps / 1e9);
}

double microseconds(Duration time) {
  return static_cast<double>(time.count()) / 1e3;
}

std::string drops_text(const network::PriorityCounters& counters) {
  std::string text;
  for (std::size_t i = 0; i < network::kDropReasons; ++i) {
    if (counters.dropped_frames[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(static_cast<network::DropReason>(i)),
                        counters.dropped_frames[i]);
  }
  return text.empty() ? "-" : text;
}

/// The ports at which something happened, those with the longest queues first.
std::vector<const PortOutcome*> busiest(const Outcome& outcome) {
  std::vector<const PortOutcome*> ports;
  for (const PortOutcome& port : outcome.ports) ports.push_back(&port);
  std::stable_sort(ports.begin(), ports.end(), [](const PortOutcome* a, const PortOutcome* b) {
    return a->counters.highest_queue_bytes > b->counters.highest_queue_bytes;
  });
  return ports;
}

std::string state_of(const Outcome& outcome) {
  if (!outcome.failure.empty()) return "not over: " + outcome.failure;
  return outcome.is_over ? "over" : "not over";
}

Json json_of(const network::PriorityCounters& counters) {
  Json drops = Json::object();
  for (std::size_t i = 0; i < network::kDropReasons; ++i) {
    drops[std::string(to_string(static_cast<network::DropReason>(i)))] = counters.dropped_frames[i];
  }
  return {{"sent_frames", counters.sent_frames},       {"sent_bytes", counters.sent_bytes},
          {"marked_frames", counters.marked_frames},   {"dropped_frames", drops},
          {"pauses_sent", counters.pauses_sent},       {"paused_us", microseconds(counters.paused_time)},
          {"watchdog_fired", counters.watchdog_fired}, {"highest_queue_bytes", counters.highest_queue_bytes}};
}

}  // namespace

std::string text_report(const Title& title, const Outcome& outcome) {
  std::string text = fmt::format("{} on {}, seed {}: {} after {} of virtual time\n\n", title.workload,
                                 title.topology, title.seed, state_of(outcome), text_of(outcome.time));
  text += fmt::format("{:<18} {:>11} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12} {:>8}\n", "job", "steps",
                      "bytes", "took", "median", "99 %", "longest", "goodput", "fairness");
  for (const JobOutcome& job : outcome.jobs) {
    const std::string steps = job.finished == job.steps ? fmt::format("{}", job.steps)
                                                        : fmt::format("{} of {}", job.finished, job.steps);
    const auto time = [&job](double share) {
      return job.completion_times.empty() ? "-" : text_of(job.completion_time(share));
    };
    text += fmt::format("{:<18} {:>11} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12} {:>8.3f}\n", job.name, steps,
                        bytes_text(job.bytes), text_of(job.ended - job.began), time(0.5), time(0.99), time(1),
                        rate_text(job.goodput_bps()), job.fairness);
  }
  const TransportOutcome& transport = outcome.transport;
  text += fmt::format(
      "\nqueue pairs: {} sequence errors, {} timeouts, {} duplicate requests, {} marked packets, {} CNPs "
      "sent, {} obeyed\n",
      transport.sequence_naks, transport.timeouts, transport.duplicates, transport.marked,
      transport.cnps_sent, transport.cnps_handled);
  for (const std::string& fault : outcome.faults) text += fault + "\n";

  text += fmt::format("\n{:<28} {:>8} {:>10} {:>10} {:>8} {:>8} {:>10}  {}\n", "port, priority", "frames",
                      "bytes", "queue", "marks", "pauses", "paused", "drops");
  const std::vector<const PortOutcome*> ports = busiest(outcome);
  for (const PortOutcome* port : std::span(ports).first(std::min(ports.size(), kPortsShown))) {
    const network::PriorityCounters& counters = port->counters;
    text += fmt::format("{:<28} {:>8} {:>10} {:>10} {:>8} {:>8} {:>10}  {}\n",
                        fmt::format("{}, {}", port->name, port->priority), counters.sent_frames,
                        bytes_text(counters.sent_bytes), bytes_text(counters.highest_queue_bytes),
                        counters.marked_frames, counters.pauses_sent, text_of(counters.paused_time),
                        drops_text(counters));
  }
  if (ports.size() > kPortsShown) {
    text += fmt::format("and {} more with shorter queues: --json has them\n", ports.size() - kPortsShown);
  }
  text += fmt::format("\n{} packet-hops in {:.2f} s: {:.2f} million a second\n", outcome.packet_hops,
                      title.seconds,
                      title.seconds > 0 ? static_cast<double>(outcome.packet_hops) / title.seconds / 1e6 : 0);
  return text;
}

std::string json_report(const Title& title, const Outcome& outcome) {
  Json jobs = Json::array();
  for (const JobOutcome& job : outcome.jobs) {
    jobs.push_back({{"name", job.name},
                    {"steps", job.steps},
                    {"finished", job.finished},
                    {"bytes", job.bytes},
                    {"began_us", microseconds(job.began)},
                    {"ended_us", microseconds(job.ended)},
                    {"median_us", microseconds(job.completion_time(0.5))},
                    {"p99_us", microseconds(job.completion_time(0.99))},
                    {"longest_us", microseconds(job.completion_time(1))},
                    {"goodput_bps", job.goodput_bps()},
                    {"fairness", job.fairness}});
  }
  Json ports = Json::array();
  for (const PortOutcome& port : outcome.ports) {
    Json one = {{"port", port.name}, {"priority", port.priority}};
    one.update(json_of(port.counters));
    ports.push_back(std::move(one));
  }
  const TransportOutcome& transport = outcome.transport;
  const Json report = {{"topology", title.topology},
                       {"workload", title.workload},
                       {"seed", title.seed},
                       {"is_over", outcome.is_over},
                       {"failure", outcome.failure.empty() ? Json() : Json(outcome.failure)},
                       {"time_us", microseconds(outcome.time)},
                       {"jobs", jobs},
                       {"queue_pairs",
                        {{"packet_seq_err", transport.sequence_naks},
                         {"local_ack_timeout_err", transport.timeouts},
                         {"duplicate_request", transport.duplicates},
                         {"np_ecn_marked_roce_packets", transport.marked},
                         {"np_cnp_sent", transport.cnps_sent},
                         {"rp_cnp_handled", transport.cnps_handled}}},
                       {"network", json_of(outcome.total())},
                       {"ports", ports},
                       {"faults", outcome.faults},
                       {"packet_hops", outcome.packet_hops},
                       {"trace_hash", fmt::format("{:016x}", outcome.trace_hash)},
                       {"seconds", title.seconds}};
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace urnic::experiment
