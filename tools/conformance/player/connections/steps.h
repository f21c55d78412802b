// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What each kind of statement does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/conformance/player/connections/stage.h"
#include "tools/conformance/script/script.h"
#include "tools/conformance/script/trouble.h"

namespace urnic::scripts::connections {

/// What the program calls its ids when the script does not say it.
inline constexpr const char* kListener = "listener";
inline constexpr const char* kConnection = "connection";
/// rping's.
inline constexpr std::uint16_t kPort = 7174;
/// From where the program connects.
inline constexpr std::uint16_t kFromPort = 40000;
/// The program's queue pair.
inline constexpr std::uint64_t kOwnQpn = 0x11;
/// Of both retry counts of the program.
inline constexpr std::uint64_t kRetries = 7;

/// Does what the program, the peer or the clock does.
std::optional<Trouble> act(Stage& stage, const Statement& statement);

/// Compares what came out, which it takes away, or what is, with what the statement says.
std::optional<Trouble> expect(Stage& stage, const Statement& statement);

/// Part of act().
std::optional<Trouble> arrive(Stage& stage, const Statement& statement);

/// The id that a statement of the program is about.
Word name_of_id(const Statement& statement);
/// The errno value that a call must fail with; 0: it must succeed.
int wanted_error(const Statement& statement);

/// The private data that a statement names, or `size` bytes that count from 1.
Octets private_octets(const Statement& statement);
bool has_private(const Statement& statement);

/// The number of a field that may be a name instead: nothing if the script has not used this name before.
struct Drawn {
  std::optional<std::uint64_t> number;
  Word new_name;
};
Drawn drawn_number(const Stage& stage, const Value& value);

}  // namespace urnic::scripts::connections
