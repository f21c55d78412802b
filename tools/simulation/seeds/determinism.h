// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Determinism: the oracle that lets a world happen again and compares.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/simulation/seeds/core/referee.h"
#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {

/// Runs the world of these options once more. A complaint unless every frame is sent and taken at the times
/// that `trace_hash`, World::trace_hash() of the first run, stands for.
std::optional<Failure> check_determinism(const Options& options, std::uint64_t trace_hash);

}  // namespace urnic::sim
