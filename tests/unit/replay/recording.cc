// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/replay/recording.h"

#include <gtest/gtest.h>

#include "tests/support/value_of.h"
#include "tools/conformance/check/capture_reader.h"

namespace urnic::replay::test {

std::unique_ptr<Capture> read(const std::filesystem::path& path) {
  auto capture = std::make_unique<Capture>();
  std::string why;
  auto reader = check::CaptureReader::open(path.string(), why);
  if (!reader) urnic::test::end_test(path.string() + ": " + why);
  while (true) {
    const auto frame = reader->next();
    if (!frame) break;
    capture->add(frame->link_type, *frame);
  }
  EXPECT_EQ(reader->error(), "");
  return capture;
}

std::unique_ptr<Capture> take(const Frames& frames) {
  auto capture = std::make_unique<Capture>();
  std::uint64_t number = 0;
  for (const auto& frame : frames.frames()) {
    capture->add(check::LinkType::kEthernet, {.bytes = frame.bytes,
                                              .wire_bytes = frame.bytes_on_wire,
                                              .time_ns = frame.time_ns,
                                              .number = ++number});
  }
  return capture;
}

Recording::Recording(const std::string& fixture)
    : capture(take(Frames::fixture(fixture))), direction(directions_of(*capture).at(0)) {
  messages = messages_of(direction, direction.notes);
}

const Outcome* find_mismatch(const Report& report, Side side) {
  for (const DirectionReport& direction : report.directions) {
    for (const Outcome& outcome : direction.outcomes) {
      if (outcome.side == side && outcome.verdict == Verdict::kMismatch) return &outcome;
    }
  }
  return nullptr;
}

}  // namespace urnic::replay::test
