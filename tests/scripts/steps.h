// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What each kind of statement does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/scripts/script.h"
#include "tests/scripts/stage.h"
#include "tests/scripts/trouble.h"

namespace urnic::scripts {

/// Numbers in scripts have 64 bits, most numbers of the transport 32.
inline std::uint32_t u32(std::uint64_t number) {
  return static_cast<std::uint32_t>(number);
}

/// Takes a statement with is_setting().
std::optional<Trouble> apply_setting(Settings& settings, const Statement& statement);

/// Does what the program, the peer or the clock does, and lets the transport react unless the statement says
/// "burst".
std::optional<Trouble> act(Stage& stage, const Statement& statement);
bool is_action(Verb verb);

/// Compares what came out, which it takes away, or what is, with what the statement says.
std::optional<Trouble> expect(Stage& stage, const Statement& statement);

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

/// What came out and was not expected; nothing if all is consumed.
std::optional<std::string> first_unexpected(const Stage& stage, Outputs& outputs);

/// `length` bytes at `place`, or the script error that there are none.
struct PlacedBytes {
  std::span<std::byte> bytes;
  std::optional<Trouble> trouble;
};
PlacedBytes bytes_at(Stage& stage, const Place& place, std::size_t length);

/// The IPv4 or IPv6 header that a datagram came with.
std::span<const std::byte> network_header(const Word& ip_version);

}  // namespace urnic::scripts
