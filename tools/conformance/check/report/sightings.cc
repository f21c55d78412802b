// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fmt/core.h>

#include "tools/conformance/check/report/report.h"

namespace urnic::check {
namespace {

std::string tunnels_text(const FrameCounts& counts) {
  std::string text;
  for (std::size_t i = 0; i < kWrappings; ++i) {
    if (counts.wrapped[i] == 0) continue;
    text += fmt::format("{}{} in {}", text.empty() ? "seen through tunnels: " : ", ", counts.wrapped[i],
                        to_string(static_cast<Wrapping>(i)));
  }
  return text.empty() ? text : text + "\n";
}

std::string fragments_text(const Checker& checker) {
  const std::uint64_t whole = checker.fragments().completed();
  const std::uint64_t incomplete = checker.fragments().incomplete();
  std::string text;
  if (whole > 0) text += fmt::format("put together of fragments: {} datagrams\n", whole);
  if (incomplete > 0) text += fmt::format("datagrams that lack fragments: {}\n", incomplete);
  return text;
}

std::string obstacles_text(const FrameCounts& counts) {
  std::string text;
  for (std::size_t i = 0; i < kObstacles; ++i) {
    if (counts.not_looked_into[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "not looked into: " : ", ", counts.not_looked_into[i],
                        to_string(static_cast<Obstacle>(i)));
  }
  return text.empty() ? text : text + "\n";
}

std::string ports_text(const PortHints& hints) {
  std::string text;
  for (const auto& [port, count] : hints.by_port()) {
    text += fmt::format("UDP port {0} carries {1} {2} as BTH: --udp-port {0}\n", port, count,
                        count == 1 ? "frame that parses" : "frames that parse");
  }
  return text;
}

}  // namespace

std::string sightings_text(const Checker& checker) {
  const FrameCounts& counts = checker.counts();
  std::string text = tunnels_text(counts) + fragments_text(checker);
  if (counts.copies > 0) {
    text += fmt::format("doubled frames, as by a mirror port: {} copies left out\n", counts.copies);
  }
  if (counts.late > 0) {
    text += fmt::format("out of time order: {} frames; reordercap puts a file in order\n", counts.late);
  }
  return text + obstacles_text(counts) + ports_text(checker.port_hints());
}

}  // namespace urnic::check
