// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Enums whose values count from 0 and have a name_of() each: how many there are, and which one a name means.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace urnic::transport {

/// How many values `Enum` has. Its name_of() is a switch over all of them, which the compiler compares with
/// the enum (-Wswitch), and gives "" for what is no value.
template <typename Enum>
consteval std::size_t count_of() {
  std::size_t count = 0;
  while (!name_of(static_cast<Enum>(count)).empty()) ++count;
  return count;
}

/// The names of all values, in their order.
template <typename Enum>
consteval auto names_of() {
  std::array<std::string_view, count_of<Enum>()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<Enum>(i));
  return names;
}

/// The value of this name; none if no value is called so.
template <typename Enum>
constexpr std::optional<Enum> find_named(std::string_view name) {
  for (std::size_t i = 0; i < count_of<Enum>(); ++i) {
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace urnic::transport
