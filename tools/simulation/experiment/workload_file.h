// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Workloads as text: JSON in which comments are allowed. EXPERIMENTS.md describes the format.
#pragma once

#include <cstdint>
#include <string_view>

#include "drivers/network/topology.h"
#include "tools/simulation/experiment/workload.h"
#include "transport/result.h"

namespace urnic::experiment {

/// A workload for the hosts of `topology`. `seed` decides what its patterns draw. The error (EINVAL) says
/// what is wrong, where in the document ("jobs[1].bytes"), and what to do; members that are unknown, or given
/// twice, are wrong, too.
Result<Workload, Error> parse_workload(std::string_view text, const network::Topology& topology,
                                       std::uint64_t seed);

}  // namespace urnic::experiment
