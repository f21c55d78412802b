// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/script/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace urnic::scripts {
namespace {

using transport::Access;
using transport::Duration;

constexpr std::uint64_t kPsnMask = 0xffffff;
constexpr std::uint32_t kMostPsnsInARange = 4096;
constexpr std::size_t kMostOctets = 8192;
constexpr std::size_t kMostPlaces = 32;
constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 40;
constexpr Duration kLongestDuration = std::chrono::hours(10);

/// Cuts `text` at the first `separator`; the second part is empty if there is none.
struct Cut {
  std::string_view before;
  std::string_view rest;
  bool found = false;
};
Cut cut_at(std::string_view text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}, false};
  return {text.substr(0, at), text.substr(at + separator.size()), true};
}

std::optional<std::uint64_t> read_digits(std::string_view text, int base) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> read_number(std::string_view text) {
  if (text.substr(0, 2) == "0x") return read_digits(text.substr(2), 16);
  std::uint64_t unit = 1;
  if (text.size() > 3 && text.substr(text.size() - 3) == "KiB") {
    unit = 1024;
    text.remove_suffix(3);
  }
  const auto number = read_digits(text, 10);
  if (!number || *number > ~std::uint64_t{0} / unit) return std::nullopt;
  return *number * unit;
}

/// Exactly: a fraction of a nanosecond is no duration.
std::optional<Duration> read_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::uint64_t nanoseconds;
  };
  constexpr auto kUnits =
      std::to_array<Unit>({{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}});
  const std::size_t end_of_number = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view name = text.substr(end_of_number);
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [name](const Unit& candidate) { return candidate.name == name; });
  if (unit == kUnits.end()) return std::nullopt;

  const Cut number = cut_at(text.substr(0, end_of_number), ".");
  const auto whole = read_digits(number.before, 10);
  if (!whole || *whole > 1'000'000'000'000u || (number.found && number.rest.empty())) return std::nullopt;
  std::uint64_t nanoseconds = 0;
  if (*whole > static_cast<std::uint64_t>(kLongestDuration.count()) / unit->nanoseconds) return std::nullopt;
  nanoseconds = *whole * unit->nanoseconds;
  std::uint64_t scale = unit->nanoseconds;
  for (const char digit : number.rest) {
    if (digit < '0' || digit > '9') return std::nullopt;
    if (scale % 10 != 0) return std::nullopt;
    scale /= 10;
    nanoseconds += static_cast<std::uint64_t>(digit - '0') * scale;
  }
  return Duration(static_cast<std::int64_t>(nanoseconds));
}

std::optional<Access> read_rights(std::string_view text) {
  if (text == "none") return Access::kNone;
  Access rights = Access::kNone;
  for (Cut list{{}, text, true}; list.found;) {
    list = cut_at(list.rest, ",");
    const std::size_t bit = index_of(right_names(), list.before);
    if (bit == right_names().size()) return std::nullopt;
    rights = rights | static_cast<Access>(1u << bit);
  }
  return rights;
}

std::optional<PsnRange> read_psns(std::string_view text) {
  const Cut ends = cut_at(text, "..");
  const auto first = read_number(ends.before);
  const auto last = ends.found ? read_number(ends.rest) : first;
  if (!first || !last || *first > kPsnMask || *last > kPsnMask) return std::nullopt;
  const auto count = static_cast<std::uint32_t>((*last - *first) & kPsnMask) + 1;
  if (count > kMostPsnsInARange) return std::nullopt;
  return PsnRange{.first = static_cast<std::uint32_t>(*first), .count = count};
}

std::optional<Octets> read_octets(std::string_view text) {
  if (text.empty() || text.size() % 2 != 0 || text.size() / 2 > kMostOctets) return std::nullopt;
  Octets octets;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const auto octet = read_digits(text.substr(at, 2), 16);
    if (!octet) return std::nullopt;
    octets.push_back(static_cast<std::byte>(*octet));
  }
  return octets;
}

std::optional<Place> read_place(std::string_view text) {
  const Cut length = cut_at(text, ":");
  const Cut offset = cut_at(length.before, "+");
  if (!is_name(offset.before)) return std::nullopt;
  Place place{.name = std::string(offset.before)};
  if (offset.found) {
    const auto number = read_number(offset.rest);
    if (!number || *number > kMostOffset) return std::nullopt;
    place.offset = *number;
  }
  if (length.found) {
    const auto number = read_number(length.rest);
    if (!number || *number > 0xffffffff) return std::nullopt;
    place.length = static_cast<std::uint32_t>(*number);
  }
  return place;
}

std::optional<std::vector<Place>> read_places(std::string_view text) {
  std::vector<Place> places;
  if (text == "nowhere") return places;
  for (Cut list{{}, text, true}; list.found;) {
    list = cut_at(list.rest, ",");
    auto place = read_place(list.before);
    if (!place || places.size() == kMostPlaces) return std::nullopt;
    places.push_back(*std::move(place));
  }
  return places;
}

template <typename T>
Result<Value, Complaint> value_or(std::optional<T> read, std::string_view text, std::string_view wanted) {
  if (!read) return Complaint{fmt::format("'{}' is not {}", text, wanted)};
  return Value(*std::move(read));
}

std::optional<bool> read_flag(std::string_view text) {
  if (text == "yes") return true;
  if (text == "no") return false;
  return std::nullopt;
}

Result<Value, Complaint> read_bounded_number(const ValueRule& rule, std::string_view text) {
  const auto number = read_number(text);
  if (!number) return Complaint{fmt::format("'{}' is not a number (10, 0x1f, 64KiB)", text)};
  if (*number > rule.most) {
    return Complaint{fmt::format("{} is more than {}, the most that fits", text, rule.most)};
  }
  return Value(*number);
}

Result<Value, Complaint> read_alternatives(const ValueRule& rule, std::string_view text) {
  for (Cut list{{}, text, true}; list.found;) {
    list = cut_at(list.rest, "|");
    if (index_of(rule.choices, list.before) == rule.choices.size()) {
      return Complaint{fmt::format("'{}' is none of {}", list.before, fmt::join(rule.choices, ", "))};
    }
  }
  return Value(Word(text));
}

Result<Value, Complaint> read_choice(const ValueRule& rule, std::string_view text) {
  if (index_of(rule.choices, text) < rule.choices.size()) return Value(Word(text));
  return Complaint{fmt::format("'{}' is none of {}", text, fmt::join(rule.choices, ", "))};
}

}  // namespace

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto may_follow = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= 40 && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), may_follow);
}

Result<Value, Complaint> read_value(const ValueRule& rule, std::string_view text) {
  switch (rule.form) {
    case Form::kNothing:
      break;
    case Form::kFlag:
      return value_or(read_flag(text), text, "yes or no");
    case Form::kNumber:
      return read_bounded_number(rule, text);
    case Form::kDrawn:
      return is_name(text) ? Result<Value, Complaint>(Value(Word(text))) : read_bounded_number(rule, text);
    case Form::kChoice:
      return read_choice(rule, text);
    case Form::kOneOf:
      return read_alternatives(rule, text);
    case Form::kName:
      if (!is_name(text)) return Complaint{fmt::format("'{}' is not a name", text)};
      return Value(Word(text));
    case Form::kDuration:
      return value_or(read_duration(text), text, "a time in ns, us, ms or s, exact to a nanosecond");
    case Form::kRights:
      return value_or(read_rights(text), text,
                      fmt::format("none or some of {}", fmt::join(right_names(), ",")));
    case Form::kPsns:
      return value_or(read_psns(text), text, "a PSN or a range of them (100..104), 24 bits");
    case Form::kOctets:
      return value_or(read_octets(text), text, "bytes in hexadecimal (00a1ff)");
    case Form::kPlaces:
      return value_or(read_places(text), text, "a place in memory (shared+16:8)");
  }
  return Complaint{"takes no value"};
}

}  // namespace urnic::scripts
