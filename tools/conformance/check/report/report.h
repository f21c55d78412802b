// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the checker found, for people and for programs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/conformance/check/checker.h"

namespace urnic::check {

/// With the exit codes of `urnic check`.
enum class Verdict : int { kClean = 0, kViolations = 1, kUnreadable = 2, kNothing = 3 };
const char* to_string(Verdict verdict);

/// The verdict over one file; kNothing: no frame of it is RoCE. `damage` says what could not be read
/// (empty: nothing).
Verdict verdict_of(const Checker& checker, const std::string& damage);

/// Both directions of a connection, or one flow that has no other.
struct Pair {
  std::uint32_t forward = 0;
  std::optional<std::uint32_t> backward;
};
/// Those that are shown, in the order of their first packets.
std::vector<Pair> pairs_of(const Connections& connections);

/// What a report about some flows leaves out.
struct LeftOut {
  std::uint64_t connections = 0;
  std::uint64_t packets = 0;  ///< of those connections
  /// By Severity: of those connections, and of frames that belong to none.
  std::array<std::uint64_t, kSeverities> findings{};
};
LeftOut left_out_of(const Checker& checker);

/// "ACK", "RC SEND Only" and so on, with the PSN.
std::string to_string(const Landmark& landmark);

/// Goodput of one direction in bits per second: delivered payload over the time from its first packet to its
/// last. 0 when that takes no time.
double goodput_bps(const ExchangeCounts& counts);

/// One line about a finding, with its rule, frames and connection.
std::string finding_text(const Connections& connections, const Finding& finding);

/// Lines about frames that were not simply there: in tunnels, in fragments, doubled, out of order, or not
/// looked into. Empty if there are none.
std::string sightings_text(const Checker& checker);

/// Lines for people; `ladder` adds the ladders that the checker kept.
std::string text_report(const std::string& file, const Checker& checker, const std::string& damage,
                        bool ladder);

/// The same as one object: file, verdict, counts, connections, findings. Units are part of the names.
nlohmann::json json_report(const std::string& file, const Checker& checker, const std::string& damage);

/// The rules, one line each.
std::string list_of_rules();

}  // namespace urnic::check
