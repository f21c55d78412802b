// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/runner.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "nic/recovery_text.h"
#include "tools/simulation/seeds/determinism.h"
#include "tools/simulation/seeds/scenario/options.h"
#include "tools/simulation/seeds/world.h"

namespace urnic::sim {
namespace {

/// From this many seeds on nothing may be uncovered, wherever they begin: the rarest event is missing in one
/// range of 1,000 seeds in 30.
constexpr std::uint64_t kEnoughSeedsForCoverage = 2500;
/// One seed in so many runs twice.
constexpr std::uint64_t kDeterminismSample = 16;
constexpr std::size_t kLastFrames = 60;

/// A seed, and what is not as it draws.
struct Run {
  std::uint64_t seed = 0;
  Forced forced{};
};

constexpr Run kRegressionSeeds[] = {
#include <regressions.inc>
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

struct FailedRun {
  Run run;
  Failure failure;
};

/// The options of the command that has the same effect.
std::string describe(const Run& run) {
  std::string text = fmt::format("--seed {}", run.seed);
  if (run.forced.recovery) text += fmt::format(" --recovery {}", nic::name_of(*run.forced.recovery));
  if (run.forced.path) text += fmt::format(" --path {}", name_of(*run.forced.path));
  if (run.forced.adversaries) text += fmt::format(" --chaos {}", *run.forced.adversaries ? "all" : "none");
  return text;
}

std::string describe(const FailedRun& failed) {
  return fmt::format("FAILED: urnic sim {}: {}: at {} us: {} [{}]", describe(failed.run),
                     failed.failure.oracle,
                     static_cast<double>(failed.failure.time.time_since_epoch().count()) / 1000,
                     failed.failure.what, Options::draw(failed.run.seed, failed.run.forced).to_string());
}

/// Runs the world once more for the last frames before its failure.
void print_last_frames(const Options& options, std::FILE* out) {
  const File trace(std::tmpfile());
  if (!trace) return;
  static_cast<void>(run_seed(options, false, trace.get()));
  std::rewind(trace.get());
  std::deque<std::string> lines;
  char line[512];
  while (std::fgets(line, sizeof line, trace.get()) != nullptr) {
    lines.emplace_back(line);
    if (lines.size() > kLastFrames) lines.pop_front();
  }
  for (const std::string& text : lines) fmt::print(out, "  {}", text);
}

/// Whether the user has excluded it.
bool is_excluded(CoverageEvent event, const RunnerOptions& options) {
  const bool is_selective =
      event == CoverageEvent::kSelectiveNak || event == CoverageEvent::kSelectiveRepetition;
  if (is_selective && options.forced.recovery == transport::Recovery::kGoBackN) return true;
  if (is_of_adversary(event) && options.forced.adversaries == false) return true;
  return is_of_topology(event) && options.forced.path == PathKind::kDirect;
}

std::vector<std::string_view> uncovered(const Coverage& coverage, const RunnerOptions& options) {
  std::vector<std::string_view> names;
  for (const auto& [event, name] : kCoverageEvents) {
    if (coverage.count(event) == 0 && !is_excluded(event, options)) names.push_back(name);
  }
  return names;
}

struct Report {
  std::uint64_t seeds = 0;
  Coverage coverage;
  std::vector<FailedRun> failed;
  std::vector<std::string_view> uncovered;
  double seconds = 0;

  bool is_good() const { return failed.empty() && uncovered.empty(); }
};

void print_text(const Report& report, std::FILE* out) {
  for (const auto& [event, name] : kCoverageEvents) {
    fmt::print(out, "{:>12}  {}\n", report.coverage.count(event), name);
  }
  for (const std::string_view name : report.uncovered) {
    fmt::print(out, "FAILED: in all these seeds there was not one: {}\n", name);
  }
  fmt::print(out, "{} seeds in {:.1f} s: {}\n", report.seeds, report.seconds,
             report.is_good() ? "all good" : fmt::format("{} failed", report.failed.size()));
}

/// tools/development/merge-results adds up the reports of all shards.
void print_json(const RunnerOptions& options, const Report& report, std::FILE* out) {
  nlohmann::ordered_json json;
  json["campaign"] =
      fmt::format("sim, seeds {} to {}", options.first_seed, options.first_seed + options.seeds - 1);
  json["shard"] = {{"number", options.shard.number}, {"of", options.shard.of}};
  json["seeds"] = report.seeds;
  json["seconds"] = report.seconds;
  json["good"] = report.is_good();
  json["failures"] = nlohmann::json::array();
  for (const FailedRun& failed : report.failed) {
    json["failures"].push_back({{"seed", failed.run.seed},
                                {"oracle", failed.failure.oracle},
                                {"what", failed.failure.what},
                                {"time_ns", failed.failure.time.time_since_epoch().count()},
                                {"options", Options::draw(failed.run.seed, failed.run.forced).to_string()}});
  }
  for (const auto& [event, name] : kCoverageEvents) {
    json["coverage"][std::string(name)] = report.coverage.count(event);
  }
  json["least_seeds_for_coverage"] = kEnoughSeedsForCoverage;
  json["uncovered"] = report.uncovered;
  fmt::print(out, "{}\n", json.dump(2));
}

std::vector<Run> runs_of(const RunnerOptions& options) {
  std::vector<Run> runs;
  if (options.regressions && options.shard.number == 1) {
    runs.assign(std::begin(kRegressionSeeds), std::end(kRegressionSeeds));
  }
  for (std::uint64_t i = options.shard.number - 1; i < options.seeds; i += options.shard.of) {
    runs.push_back({.seed = options.first_seed + i, .forced = options.forced});
  }
  return runs;
}

}  // namespace

SeedResult run_seed(const Options& options, bool twice, std::FILE* trace) {
  World world(options);
  if (trace != nullptr) world.set_trace(trace);
  SeedResult result;
  result.failure = world.run();
  result.coverage = world.coverage();
  result.trace_hash = world.trace_hash();
  if (twice && !result.failure) result.failure = check_determinism(options, result.trace_hash);
  return result;
}

int run(const RunnerOptions& options, std::FILE* out) {
  File trace;
  if (!options.trace_file.empty()) {
    trace.reset(std::fopen(options.trace_file.c_str(), "w"));
    if (!trace) {
      fmt::print(stderr, "urnic: cannot write {}\n", options.trace_file);
      return 2;
    }
  }
  const auto runs = runs_of(options);
  const bool shows_progress = isatty(STDERR_FILENO) == 1 && !options.verbose && runs.size() > 1;
  const auto started = std::chrono::steady_clock::now();
  Report report;
  for (const Run& run : runs) {
    const Options drawn = Options::draw(run.seed, run.forced);
    if (options.verbose && !options.json) fmt::print(out, "seed {}: {}\n", run.seed, drawn.to_string());
    const bool twice = runs.size() == 1 || run.seed % kDeterminismSample == 0;
    const SeedResult result = run_seed(drawn, twice, trace.get());
    trace.reset();  // the first seed only
    ++report.seeds;
    report.coverage.add(result.coverage);
    if (result.failure) {
      report.failed.push_back({.run = run, .failure = *result.failure});
      if (!options.json) fmt::print(out, "{}\n", describe(report.failed.back()));
      if (options.verbose && !options.json) print_last_frames(drawn, out);
      std::fflush(out);
      if (report.failed.size() >= options.max_failures) break;
    }
    if (shows_progress) {
      fmt::print(stderr, "\r{} of {} seeds, {} failed ", report.seeds, runs.size(), report.failed.size());
    }
  }
  if (shows_progress) fmt::print(stderr, "\r\x1b[K");
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (report.seeds >= kEnoughSeedsForCoverage) report.uncovered = uncovered(report.coverage, options);
  options.json ? print_json(options, report, out) : print_text(report, out);
  return report.is_good() ? 0 : 1;
}

}  // namespace urnic::sim
