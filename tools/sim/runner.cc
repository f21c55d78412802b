#include "tools/sim/runner.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "nic/recovery_text.h"
#include "tools/sim/determinism.h"
#include "tools/sim/scenario/options.h"
#include "tools/sim/world.h"

namespace urnic::sim {
namespace {

/// From this many seeds on nothing may be uncovered.
constexpr std::uint64_t kEnoughSeedsForCoverage = 500;
/// One seed in so many runs twice.
constexpr std::uint64_t kDeterminismSample = 16;
constexpr std::size_t kLastFrames = 60;

constexpr std::uint64_t kRegressionSeeds[] = {
#include <regressions.inc>
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

struct FailedSeed {
  std::uint64_t seed = 0;
  Failure failure;
};

std::string describe(const RunnerOptions& options, const FailedSeed& failed) {
  const std::string recovery =
      options.recovery ? fmt::format(" --recovery {}", nic::name_of(*options.recovery)) : "";
  return fmt::format("FAILED: urnic sim --seed {}{}: {}: at {} us: {} [{}]", failed.seed, recovery,
                     failed.failure.oracle,
                     static_cast<double>(failed.failure.time.time_since_epoch().count()) / 1000,
                     failed.failure.what, Options::draw(failed.seed, options.recovery).to_string());
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
  return is_selective && options.recovery == transport::Recovery::kGoBackN;
}

std::vector<std::string_view> uncovered(const Coverage& coverage, const RunnerOptions& options) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < transport::count_of<CoverageEvent>(); ++i) {
    const auto event = static_cast<CoverageEvent>(i);
    if (coverage.count(event) == 0 && !is_excluded(event, options)) names.push_back(name_of(event));
  }
  return names;
}

struct Report {
  std::uint64_t seeds = 0;
  Coverage coverage;
  std::vector<FailedSeed> failed;
  std::vector<std::string_view> uncovered;
  double seconds = 0;

  bool is_good() const { return failed.empty() && uncovered.empty(); }
};

void print_text(const Report& report, std::FILE* out) {
  for (std::size_t i = 0; i < transport::count_of<CoverageEvent>(); ++i) {
    fmt::print(out, "{:>12}  {}\n", report.coverage.count(static_cast<CoverageEvent>(i)),
               name_of(static_cast<CoverageEvent>(i)));
  }
  for (const std::string_view name : report.uncovered) {
    fmt::print(out, "FAILED: in all these seeds there was not one: {}\n", name);
  }
  fmt::print(out, "{} seeds in {:.1f} s: {}\n", report.seeds, report.seconds,
             report.is_good() ? "all good" : fmt::format("{} failed", report.failed.size()));
}

/// tools/merge-results adds up the reports of all shards.
void print_json(const RunnerOptions& options, const Report& report, std::FILE* out) {
  nlohmann::ordered_json json;
  json["campaign"] =
      fmt::format("sim, seeds {} to {}", options.first_seed, options.first_seed + options.seeds - 1);
  json["shard"] = {{"number", options.shard.number}, {"of", options.shard.of}};
  json["seeds"] = report.seeds;
  json["seconds"] = report.seconds;
  json["good"] = report.is_good();
  json["failures"] = nlohmann::json::array();
  for (const FailedSeed& failed : report.failed) {
    json["failures"].push_back({{"seed", failed.seed},
                                {"oracle", failed.failure.oracle},
                                {"what", failed.failure.what},
                                {"time_ns", failed.failure.time.time_since_epoch().count()},
                                {"options", Options::draw(failed.seed, options.recovery).to_string()}});
  }
  for (std::size_t i = 0; i < transport::count_of<CoverageEvent>(); ++i) {
    json["coverage"][std::string(name_of(static_cast<CoverageEvent>(i)))] =
        report.coverage.count(static_cast<CoverageEvent>(i));
  }
  json["least_seeds_for_coverage"] = kEnoughSeedsForCoverage;
  json["uncovered"] = report.uncovered;
  fmt::print(out, "{}\n", json.dump(2));
}

std::vector<std::uint64_t> seeds_to_run(const RunnerOptions& options) {
  std::vector<std::uint64_t> seeds;
  if (options.regressions && options.shard.number == 1) {
    seeds.assign(std::begin(kRegressionSeeds), std::end(kRegressionSeeds));
  }
  std::erase(seeds, 0);  // the list's end
  for (std::uint64_t i = options.shard.number - 1; i < options.seeds; i += options.shard.of) {
    seeds.push_back(options.first_seed + i);
  }
  return seeds;
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
  const auto seeds = seeds_to_run(options);
  const bool shows_progress = isatty(STDERR_FILENO) == 1 && !options.verbose && seeds.size() > 1;
  const auto started = std::chrono::steady_clock::now();
  Report report;
  for (const std::uint64_t seed : seeds) {
    const Options drawn = Options::draw(seed, options.recovery);
    if (options.verbose && !options.json) fmt::print(out, "seed {}: {}\n", seed, drawn.to_string());
    const bool twice = seeds.size() == 1 || seed % kDeterminismSample == 0;
    const SeedResult result = run_seed(drawn, twice, trace.get());
    trace.reset();  // the first seed only
    ++report.seeds;
    report.coverage.add(result.coverage);
    if (result.failure) {
      report.failed.push_back({.seed = seed, .failure = *result.failure});
      if (!options.json) fmt::print(out, "{}\n", describe(options, report.failed.back()));
      if (options.verbose && !options.json) print_last_frames(drawn, out);
      std::fflush(out);
      if (report.failed.size() >= options.max_failures) break;
    }
    if (shows_progress) {
      fmt::print(stderr, "\r{} of {} seeds, {} failed ", report.seeds, seeds.size(), report.failed.size());
    }
  }
  if (shows_progress) fmt::print(stderr, "\r\x1b[K");
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (report.seeds >= kEnoughSeedsForCoverage) report.uncovered = uncovered(report.coverage, options);
  options.json ? print_json(options, report, out) : print_text(report, out);
  return report.is_good() ? 0 : 1;
}

}  // namespace urnic::sim
