// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "drivers/fault/network_faults.h"
#include "drivers/network/topology_file.h"
#include "tools/inspection/files/text_file.h"
#include "tools/simulation/experiment/experiment.h"
#include "tools/simulation/experiment/host_capture.h"
#include "tools/simulation/experiment/plot.h"
#include "tools/simulation/experiment/report.h"
#include "tools/simulation/experiment/sampler.h"
#include "tools/simulation/experiment/series_file.h"
#include "tools/simulation/experiment/workload_file.h"

namespace urnic::experiment {
namespace {

/// A file and what is wrong in it.
Error in_file(const std::string& path, const Error& error) {
  return {.code = error.code, .message = fmt::format("{}: {}", path, error.message)};
}

/// The two sides of "HOST=TEXT".
Result<std::pair<HostId, std::string>, Error> split(const std::string& option, const std::string& text,
                                                    const network::Topology& topology) {
  const std::size_t equals = text.find('=');
  for (std::size_t i = 0; equals != std::string::npos && i < topology.hosts.size(); ++i) {
    if (topology.hosts[i].name == text.substr(0, equals)) {
      return std::pair(HostId(i), text.substr(equals + 1));
    }
  }
  return Error{
      .code = EINVAL,
      .message = fmt::format("{} {}: write the name of a host of the topology, such as {}, and '=' first",
                             option, text, topology.hosts.front().name)};
}

/// "LEFT/RIGHT=SPEC": faults of all links between two nodes, beside those that the file gives them.
Result<void, Error> add_link_faults(const std::string& text, network::Topology& topology) {
  const std::size_t equals = text.find('=');
  const std::size_t slash = text.find('/');
  const std::string left = text.substr(0, slash);
  const std::string right = text.substr(slash + 1, equals - slash - 1);
  bool is_found = false;
  for (network::Link& link : topology.links) {
    const std::string& one = topology.name_of(link.ends[0]);
    const std::string& other = topology.name_of(link.ends[1]);
    if (!(one == left && other == right) && !(one == right && other == left)) continue;
    is_found = true;
    link.faults += (link.faults.empty() ? "" : ",") + text.substr(equals + 1);
  }
  if (is_found) return success();
  return Error{.code = EINVAL,
               .message = fmt::format("--fault {}: the topology has no link of '{}' and '{}'; write {}=...",
                                      text, left, right, drivers::name_of(topology, topology.links.front()))};
}

/// Whether a fault is for a link: names have no slash.
bool is_about_link(const std::string& fault) {
  return fault.find('/') < fault.find('=') && fault.find('=') != std::string::npos;
}

/// What the command line says instead of the workload and the topology, or beside them.
Result<void, Error> overrule(Workload& workload, network::Topology& topology, const RunOptions& options) {
  if (options.until) workload.until = *options.until;
  if (!options.congestion.empty()) {
    const auto congestion = nic::parse_congestion(options.congestion);
    if (!congestion) return Error{.code = EINVAL, .message = "--cc: " + congestion.error().message};
    workload.congestion = congestion.value();
  }
  workload.recovery = options.recovery.value_or(workload.recovery);
  for (const std::string& text : options.faults) {
    if (is_about_link(text)) {
      if (const auto added = add_link_faults(text, topology); !added) return added.error();
      continue;
    }
    const auto host = split("--fault", text, topology);
    if (!host) return host.error();
    const auto spec = drivers::FaultSpec::parse(host.value().second);
    if (!spec) return Error{.code = EINVAL, .message = "--fault: " + spec.error().message};
    if (!workload.faults.emplace(host.value().first, spec.value()).second) {
      return Error{
          .code = EINVAL,
          .message = fmt::format("--fault {}: that host has faults already; put commas between them", text)};
    }
  }
  return success();
}

/// A line on the terminal, now and then, with the virtual time.
class Progress final : public network::Observer {
 public:
  explicit Progress(const StepTracker& tracker) : tracker_(tracker), is_shown_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() override {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void on_send(network::PortId, std::span<const std::byte>, network::Time time) override {
    constexpr std::uint64_t kFramesBetween = 1u << 18;
    if (!is_shown_ || ++frames_ % kFramesBetween != 0) return;
    fmt::print(stderr, "\r{:.3f} ms of virtual time, {} steps to go\x1b[K",
               static_cast<double>(time.time_since_epoch().count()) / 1e6, tracker_.open());
  }

 private:
  const StepTracker& tracker_;
  bool is_shown_;
  std::uint64_t frames_ = 0;
};

std::string name_or(const std::string& name, const std::string& path) {
  return name.empty() ? path.substr(path.rfind('/') + 1) : name;
}

Result<int, Error> run_files(const RunOptions& options, std::FILE* out) {
  const auto topology_text = tools::read_text_file(options.topology_file);
  if (!topology_text) return topology_text.error();
  auto parsed = network::parse_topology(topology_text.value());
  if (!parsed) return in_file(options.topology_file, parsed.error());
  network::Topology& topology = parsed.value();
  const auto workload_text = tools::read_text_file(options.workload_file);
  if (!workload_text) return workload_text.error();
  auto read = parse_workload(workload_text.value(), topology, options.seed);
  if (!read) return in_file(options.workload_file, read.error());
  Workload& workload = read.value();
  if (const auto overruled = overrule(workload, topology, options); !overruled) return overruled.error();

  Experiment experiment(topology, workload, options.seed);
  Progress progress(experiment.tracker());
  experiment.add_watcher(progress);
  std::vector<std::unique_ptr<HostCapture>> captures;
  for (const std::string& text : options.captures) {
    const auto host = split("--pcap", text, topology);
    if (!host) return host.error();
    auto capture = HostCapture::create(experiment.network(), host.value().first, host.value().second);
    if (!capture) return capture.error();
    experiment.add_watcher(*capture.value());
    captures.push_back(std::move(capture.value()));
  }
  const bool is_sampled = !options.series_file.empty() || !options.plot_file.empty();
  std::unique_ptr<Sampler> sampler;
  if (is_sampled) sampler = std::make_unique<Sampler>(experiment, options.interval);

  const auto begun = std::chrono::steady_clock::now();
  const Outcome outcome = experiment.run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  const Title title{.topology = name_or(topology.name, options.topology_file),
                    .workload = name_or(workload.name, options.workload_file),
                    .seed = options.seed,
                    .seconds = took.count()};
  const std::vector<Series> series = sampler ? sampler->series() : std::vector<Series>();
  if (!options.series_file.empty()) {
    if (const auto written = write_series(options.series_file, series); !written) return written.error();
  }
  if (!options.plot_file.empty()) {
    if (const auto written = write_plot(options.plot_file, title, outcome, series); !written) {
      return written.error();
    }
  }
  fmt::print(out, "{}", options.json ? json_report(title, outcome) : text_report(title, outcome));
  const bool is_time_up = workload.until != Duration{} && outcome.time >= workload.until;
  return outcome.failure.empty() && (outcome.is_over || is_time_up) ? 0 : 1;
}

}  // namespace

Result<int, Error> run(const RunOptions& options, std::FILE* out) {
  try {
    return run_files(options, out);
  } catch (const std::runtime_error& error) {
    return in_file(options.workload_file, Error{.code = EINVAL, .message = error.what()});
  }
}

}  // namespace urnic::experiment
