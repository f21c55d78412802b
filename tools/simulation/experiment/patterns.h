// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Patterns: the communication of real clusters as steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "drivers/network/json_members.h"
#include "drivers/network/random.h"
#include "tools/simulation/experiment/workload.h"

namespace urnic::experiment {

/// What a pattern reads its members from.
struct PatternInput {
  const network::Members& members;
  network::Complaint& complaint;
  const network::Topology& topology;
  std::vector<HostId> hosts;  ///< which take part, in their order; 2 or more
  std::uint64_t bytes = 0;    ///< the member "bytes"
  Operation operation{};      ///< of what is sent
  network::Random& random;
};

/// Steps of one repetition. `after` of a step counts from the first of them.
class StepList {
 public:
  /// Adds a step and returns its number. Beyond the most that a workload may have it adds nothing.
  std::size_t add(Step step);
  bool is_too_long() const { return steps_.size() >= Workload::kMaxSteps || before_ > Workload::kMaxBefore; }
  std::vector<Step>& steps() { return steps_; }

 private:
  std::vector<Step> steps_;
  std::size_t before_ = 0;
};

struct Pattern {
  std::string_view name;
  std::string_view members;  ///< that it knows beside every job's, with spaces between them
  Operation operation{};     ///< where the job does not say
  bool may_read = false;     ///< no step waits for data at the side that a READ leaves in the dark
  void (*make)(const PatternInput& input, StepList& list) = nullptr;
};

/// All there are.
std::span<const Pattern> patterns();

/// The host that the member `name` names. Complains where it is missing or unknown.
std::optional<HostId> read_host(const network::Members& members, std::string_view name,
                                const network::Topology& topology, network::Complaint& complaint);
/// The hosts that the list `name` names, each once. Complains about what is wrong with it; a missing one is
/// empty.
std::vector<HostId> read_hosts(const network::Members& members, std::string_view name,
                               const network::Topology& topology, network::Complaint& complaint);

}  // namespace urnic::experiment
