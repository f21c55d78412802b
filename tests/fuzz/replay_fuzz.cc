// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: any capture, both sides of which our stack plays.
//
// The input is a sequence of frames: see capture_script.h. Nothing may crash, read out of bounds or take time
// and memory beyond what the capture is worth; whatever is played has a verdict, and every mismatch says what
// differs.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/fuzz/capture_script.h"
#include "tools/conformance/replay/replay.h"

namespace urnic::replay {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

void check_report(const Report& report) {
  for (const DirectionReport& direction : report.directions) {
    require(direction.outcomes.size() == 2, "both sides have an outcome");
    for (const Outcome& outcome : direction.outcomes) {
      require((outcome.verdict == Verdict::kEqual) == outcome.what.empty(), "what is not equal has a reason");
    }
  }
  const auto object = nlohmann::json::parse(json_report(report).dump());
  require(object["directions"].size() == report.directions.size(), "every direction is reported");
  require(!text_report(report).empty(), "there is a report");
}

}  // namespace
}  // namespace urnic::replay

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace urnic;
  replay::Capture capture;
  fuzz::for_each_frame(data, size,
                       [&](const check::RawFrame& raw) { capture.add(check::LinkType::kEthernet, raw); });
  replay::check_report(replay::replay("capture", capture, {.keep_ladder = size % 2 == 0}));
  return 0;
}
