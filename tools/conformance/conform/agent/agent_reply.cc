// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/agent/agent_reply.h"

#include <fmt/core.h>

#include <charconv>

namespace urnic::conform {

std::optional<std::string_view> AgentReply::text(std::string_view name) const {
  for (const std::string& word : words) {
    const std::string_view view = word;
    if (view.size() > name.size() && view.substr(0, name.size()) == name && view[name.size()] == '=') {
      return view.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> AgentReply::number(std::string_view name) const {
  const auto found = text(name);
  return found ? read_decimal(*found) : std::nullopt;
}

std::optional<AgentReply> parse_reply(std::string_view line) {
  AgentReply reply;
  if (line.substr(0, 6) == "error ") {
    reply.error = line.substr(6);
    return reply;
  }
  if (line != "ok" && line.substr(0, 3) != "ok ") return std::nullopt;
  reply.is_ok = true;
  for (std::size_t at = 2; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(' ', at);
    if (begin == line.npos) break;
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    reply.words.emplace_back(line.substr(begin, end - begin));
    at = end;
  }
  return reply;
}

std::optional<std::uint64_t> read_decimal(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::vector<std::byte>> read_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned value = 0;
    const char* const first = digits.data() + i;
    if (std::from_chars(first, first + 2, value, 16).ptr != first + 2) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

std::string to_hex(const std::byte* bytes, std::size_t length) {
  std::string text;
  text.reserve(2 * length);
  for (std::size_t i = 0; i < length; ++i) text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  return text;
}

}  // namespace urnic::conform
