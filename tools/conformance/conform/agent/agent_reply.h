// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AgentReply: a line of the agent, taken apart. agent/PROTOCOL.md describes the lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace urnic::conform {

/// The version of the lines that this tester says and understands.
inline constexpr int kAgentVersion = 3;

struct AgentReply {
  bool is_ok = false;
  std::string error;               ///< of a reply that is not ok: what the agent says
  std::vector<std::string> words;  ///< after "ok"

  /// The first word; empty if there is none.
  std::string_view first() const { return words.empty() ? std::string_view() : words.front(); }
  /// The text after NAME= among the words; nothing if there is none.
  std::optional<std::string_view> text(std::string_view name) const;
  /// The same as a decimal number.
  std::optional<std::uint64_t> number(std::string_view name) const;
};

/// Nothing: the line is none of an agent.
std::optional<AgentReply> parse_reply(std::string_view line);

/// A whole decimal number.
std::optional<std::uint64_t> read_decimal(std::string_view text);
/// Bytes as two digits each; nothing if they are not that.
std::optional<std::vector<std::byte>> read_hex(std::string_view digits);
std::string to_hex(const std::byte* bytes, std::size_t length);

}  // namespace urnic::conform
