// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: workload files.
//
// The input is the text of one, for a network of three hosts. Nothing may crash; a refusal says why in one
// line; small ones of what is taken run for a moment of virtual time: what is sent is no more than what they
// say.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "drivers/network/topology_file.h"
#include "tools/simulation/experiment/experiment.h"
#include "tools/simulation/experiment/workload_file.h"

namespace urnic::experiment {
namespace {

constexpr std::string_view kThreeHosts =
    R"({"profiles": [{"name": "p"}], "switches": [{"name": "s", "profile": "p"}], "hosts": ["a", "b", "c"], "links": [
        {"ends": ["a", "s"], "rate": "10Gb/s", "delay": "1us"}, {"ends": ["b", "s"], "rate": "1Gb/s", "delay": "1us"},
        {"ends": ["c", "s"], "rate": "10Gb/s", "delay": "3us"}]})";

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

bool is_small(const Workload& workload) {
  std::uint64_t posted = 0;
  for (const Job& job : workload.jobs) posted += job.messages_posted + job.message_bytes / 4096;
  return workload.steps.size() <= 100 && posted <= 2000;
}

void try_input(std::string_view text) {
  static const network::Topology topology = network::parse_topology(kThreeHosts).value();
  auto parsed = parse_workload(text, topology, 1);
  if (!parsed) {
    require(!parsed.error().message.empty(), "a refusal says why");
    require(parsed.error().message.find('\n') == std::string::npos, "a refusal is one line");
    return;
  }
  Workload& workload = parsed.value();
  if (!is_small(workload)) return;
  workload.until = std::chrono::microseconds(50);
  std::uint64_t asked = 0;
  for (const Step& step : workload.steps) asked += step.bytes;
  Experiment experiment(topology, workload, 1);
  const Outcome outcome = experiment.run();
  std::uint64_t done = 0;
  for (const JobOutcome& job : outcome.jobs) done += job.bytes;
  require(done <= asked, "no more is done than the workload says");
  require(!outcome.is_over || done == asked, "what is over was done whole");
}

}  // namespace
}  // namespace urnic::experiment

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::experiment::try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
