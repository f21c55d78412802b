// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/quantity.h"

#include <limits>
#include <span>

namespace urnic::network {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr Unit kRateUnits[] = {
    {"b/s", 1}, {"kb/s", 1'000}, {"Mb/s", 1'000'000}, {"Gb/s", 1'000'000'000}, {"Tb/s", 1'000'000'000'000}};
constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
constexpr Unit kSizeUnits[] = {{"B", 1},
                               {"kB", 1'000},
                               {"MB", 1'000'000},
                               {"GB", 1'000'000'000},
                               {"KiB", std::uint64_t{1} << 10},
                               {"MiB", std::uint64_t{1} << 20},
                               {"GiB", std::uint64_t{1} << 30}};

constexpr std::uint64_t kMaxQuantity = std::numeric_limits<std::int64_t>::max();

constexpr bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// The digits at the front of `text`, which are taken away; nothing when there are none, or more than fit.
std::optional<std::uint64_t> take_digits(std::string_view& text, std::size_t& count) {
  std::uint64_t number = 0;
  count = 0;
  while (count < text.size() && is_digit(text[count])) {
    const auto digit = static_cast<std::uint64_t>(text[count] - '0');
    if (number > (kMaxQuantity - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
    ++count;
  }
  text.remove_prefix(count);
  return count > 0 ? std::optional(number) : std::nullopt;
}

/// The exact product, without a floating-point number in between.
std::optional<std::uint64_t> scale(std::uint64_t whole, std::uint64_t fraction, std::uint64_t tens,
                                   std::uint64_t factor) {
  if (whole > kMaxQuantity / factor) return std::nullopt;
  if (fraction > kMaxQuantity / factor) return std::nullopt;
  if (fraction * factor % tens != 0) return std::nullopt;
  const std::uint64_t small = fraction * factor / tens;
  return whole * factor <= kMaxQuantity - small ? std::optional(whole * factor + small) : std::nullopt;
}

std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  std::size_t digits = 0;
  const auto whole = take_digits(text, digits);
  if (!whole) return std::nullopt;
  std::uint64_t fraction = 0;
  std::uint64_t tens = 1;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const auto decimals = take_digits(text, digits);
    if (!decimals || digits > 9) return std::nullopt;
    fraction = *decimals;
    while (digits-- > 0) tens *= 10;
  }
  for (const Unit& unit : units) {
    if (text == unit.name) return scale(*whole, fraction, tens, unit.factor);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_rate(std::string_view text) {
  return parse_quantity(text, kRateUnits);
}

std::optional<transport::Duration> parse_duration(std::string_view text) {
  const auto nanoseconds = parse_quantity(text, kTimeUnits);
  if (!nanoseconds) return std::nullopt;
  return transport::Duration(static_cast<std::int64_t>(*nanoseconds));
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  return parse_quantity(text, kSizeUnits);
}

}  // namespace urnic::network
