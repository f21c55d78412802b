// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Runner: runs the simulator over seeds and reports; what `urnic sim` and ctest call.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "tools/simulation/seeds/checks/coverage.h"
#include "tools/simulation/seeds/core/referee.h"
#include "tools/simulation/seeds/scenario/options.h"
#include "tools/simulation/seeds/shard.h"
#include "transport/qp_config.h"

namespace urnic::sim {

struct RunnerOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  /// Only this part of them. The seeds that once failed are the first shard's.
  Shard shard;
  /// First the seeds that once failed (tools/simulation/seeds/regressions.txt), as they failed. Off when the
  /// user asks for one seed, or forces something on all.
  bool regressions = true;
  /// Print every seed with its options, and after a failure the last frames.
  bool verbose = false;
  /// Write one line per frame of the first seed to this file; empty: no trace.
  std::string trace_file;
  /// Report as one JSON object instead of text.
  bool json = false;
  Forced forced;
  /// Stop after so many failed seeds.
  std::uint64_t max_failures = 10;
};

/// How one seed ended.
struct SeedResult {
  std::optional<Failure> failure;
  Coverage coverage;
  std::uint64_t trace_hash = 0;
};

/// Runs one world; with `twice` a second time too, to see whether both runs are the same. One line per frame
/// goes to `trace` if it is not null.
SeedResult run_seed(const Options& options, bool twice, std::FILE* trace);

/// Runs the seeds and writes the report to `out`, and progress to stderr if that is a terminal. A failure is
/// one line: how to reproduce it, what was expected and seen, and the options drawn. Over many seeds (2,500
/// or more, in one process) it is a failure too if something that the simulator is meant to exercise has not
/// happened at all. Returns the exit code: 0 when all was well, 1 when not, 2 when the trace file cannot be
/// written.
int run(const RunnerOptions& options, std::FILE* out);

}  // namespace urnic::sim
