// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/determinism.h"

#include <fmt/core.h>

#include "tools/simulation/seeds/world.h"

namespace urnic::sim {

std::optional<Failure> check_determinism(const Options& options, std::uint64_t trace_hash) {
  World again(options);
  static_cast<void>(again.run());
  if (again.trace_hash() == trace_hash) return std::nullopt;
  return Failure{.oracle = "determinism",
                 .what = fmt::format("two runs of the same seed differ: trace {:#x}, then {:#x}", trace_hash,
                                     again.trace_hash())};
}

}  // namespace urnic::sim
