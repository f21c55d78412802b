// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Plays the sides of every conversation in a capture against our own stack.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/conformance/replay/capture.h"
#include "tools/conformance/replay/direction.h"
#include "tools/conformance/replay/outcome.h"

namespace urnic::replay {

struct ReplayOptions {
  bool requester = true;
  bool responder = true;
  bool keep_ladder = false;
  bool memory_changes = false;
  /// Queue pairs of which a direction must have one at either end, and the second, if there is one, at the
  /// other. None: all.
  std::vector<std::uint32_t> queue_pairs{};
};

/// One direction and the results of playing its sides.
struct DirectionReport {
  std::string name;
  check::Service service = check::Service::kRc;
  std::uint32_t path_mtu = 0;
  std::size_t requests = 0;
  std::size_t answers = 0;
  std::size_t messages = 0;
  std::vector<std::string> notes{};
  std::vector<Outcome> outcomes{};

  bool is_played() const;
};

/// About a file, with the exit codes of `urnic replay`.
enum class Judgement : int {
  kEqual = 0,
  kMismatch = 1,
  kUnreadable = 2,   ///< the file is damaged
  kHardlyPlayed = 3  ///< what was played is equal, but most of the packets, or all, were not
};
const char* to_string(Judgement judgement);

/// A file and all of its directions.
struct Report {
  std::string file;
  std::uint64_t frames = 0;
  std::uint64_t packets = 0;
  std::uint64_t played = 0;  ///< packets of directions of which a side was played
  std::uint64_t wanted = 0;  ///< packets that were to be played: all of RoCEv2, or of the chosen queue pairs
  std::uint64_t left_out = 0;
  std::vector<LeftOut> left_out_frames{};
  std::vector<DirectionReport> directions{};
  std::vector<std::string> unplayed{};  ///< what belongs to no direction
  std::string damage{};                 ///< what kept the file from being read to its end; empty: nothing
};

/// Plays what `options` ask for.
Report replay(const std::string& file, const Capture& capture, const ReplayOptions& options);

/// kEqual takes half of the packets at least: equality of a few says nothing about the rest.
Judgement judgement_of(const Report& report);

/// Lines for people. Ladders of mismatches are always drawn, others if they were kept.
std::string text_report(const Report& report);
/// The same as one object.
nlohmann::json json_report(const Report& report);
/// Allowed deviations by name with what they mean, one line each.
std::string list_of_allowed_deviations();

}  // namespace urnic::replay
