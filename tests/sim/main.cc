// The simulator as a program of its own, with the options of `urnic sim`.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/sim/runner.h"

int main(int argc, char** argv) {
  urnic::sim::RunnerOptions options;
  CLI::App app("Two urnic devices on a hostile network, simulated from seeds");
  const auto* const seed = app.add_option("--seed", options.first_seed, "Run this seed alone, twice");
  app.add_option("--seeds", options.seeds, "How many seeds to run")->excludes("--seed")->check(CLI::PositiveNumber);
  app.add_option("--start", options.first_seed, "The first of them")->excludes("--seed");
  app.add_flag("--verbose,-v", options.verbose, "Print every seed's options, and the last frames before a failure");
  app.add_option("--trace", options.trace_file, "Write every frame of the first seed to this file");
  app.add_option("--max-failures", options.max_failures, "Stop after so many failed seeds");
  app.add_flag("--json", options.json, "Report as JSON");
  CLI11_PARSE(app, argc, argv);
  options.regressions = seed->count() == 0;
  return urnic::sim::run(options, stdout);
}
