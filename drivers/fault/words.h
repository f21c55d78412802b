// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the parsers of faults share: numbers, and complaints.
#pragma once

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "transport/result.h"

namespace urnic::drivers {

template <typename... Arguments>
Error bad_fault(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error{.code = EINVAL, .message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

/// Reads all of `text`, or fails. A whole number after "0x" is in hexadecimal.
template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto result = [&] {
    if constexpr (std::is_integral_v<Number>) {
      if (text.starts_with("0x")) return std::from_chars(text.data() + 2, end, number, 16);
    }
    return std::from_chars(text.data(), end, number);
  }();
  return result.ec == std::errc{} && result.ptr == end;
}

}  // namespace urnic::drivers
