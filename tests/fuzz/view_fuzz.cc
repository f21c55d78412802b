// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: any file, where a pcapng file with notes is expected, and the page's data made of it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tools/inspection/view/page.h"
#include "tools/inspection/view/pcapng_extras.h"
#include "tools/inspection/view/trace_builder.h"
#include "tools/inspection/view/trace_json.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace urnic::view;
  std::istringstream file(std::string(reinterpret_cast<const char*>(data), size));
  PcapngExtras extras = read_pcapng_extras(file);
  for (const auto& [number, frame] : extras.frames) {
    require(number > 0, "frames count from 1");
    require(frame.comment.size() <= kMostText, "a comment is no longer than kMostText");
  }
  std::vector<Capture> captures(1);
  captures[0].notes = std::move(extras.notes);
  const std::size_t notes = captures[0].notes.size();
  const Trace trace = build_trace(std::move(captures));
  require(trace.notes.size() == notes, "no note gets lost");
  const auto object = trace_json(trace, Layouts());
  require(nlohmann::json::parse(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
                                nullptr, false)
              .is_object(),
          "the data are JSON");
  return 0;
}
