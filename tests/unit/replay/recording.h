// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Captures as replays take them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/check/capture_edit.h"
#include "tools/conformance/replay/direction.h"
#include "tools/conformance/replay/message.h"
#include "tools/conformance/replay/replay.h"

namespace urnic::replay::test {

using Frames = check::test::Capture;

/// A capture whose frames were read from a file, or changed by a test.
std::unique_ptr<Capture> read(const std::filesystem::path& path);
std::unique_ptr<Capture> take(const Frames& frames);

/// A fixture's first direction with its messages. The capture lives as long as this does.
struct Recording {
  explicit Recording(const std::string& fixture);
  std::unique_ptr<Capture> capture;
  Direction direction;
  std::vector<Message> messages;
};

/// The first outcome of a report that is a mismatch, or null.
const Outcome* find_mismatch(const Report& report, Side side);

}  // namespace urnic::replay::test
