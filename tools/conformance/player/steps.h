// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What each kind of statement does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/conformance/player/stage.h"
#include "tools/conformance/script/script.h"
#include "tools/conformance/script/trouble.h"

namespace urnic::scripts {

/// Numbers in scripts have 64 bits, most numbers of the transport 32.
inline std::uint32_t u32(std::uint64_t number) {
  return static_cast<std::uint32_t>(number);
}

/// Does what the program, the peer or the clock does, and lets the transport react unless the statement says
/// "burst".
std::optional<Trouble> act(Stage& stage, const Statement& statement);
bool is_action(Verb verb);

/// Compares what came out, which it takes away, or what is, with what the statement says. `look` is how
/// silence is looked for.
std::optional<Trouble> expect(Stage& stage, const Statement& statement, Stage::Look look);

// Parts of act().
std::optional<Trouble> post(Stage& stage, const Statement& statement);
std::optional<Trouble> arrive(Stage& stage, const Statement& statement);
/// Lets the transport react unless the statement says "burst".
std::optional<Trouble> drained(Stage& stage, const Statement& statement);

/// Scatter/gather elements.
struct Elements {
  std::vector<transport::Sge> sges;
  std::uint64_t length = 0;  ///< all of them together
  std::optional<Trouble> trouble;
};
/// A single element that names no length has `length`.
Elements elements_of(Stage& stage, const std::vector<Place>& places, std::uint64_t length);

/// The IPv4 or IPv6 header that a datagram came with.
std::span<const std::byte> network_header(const Word& ip_version);

}  // namespace urnic::scripts
