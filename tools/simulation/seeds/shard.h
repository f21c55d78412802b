// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Shard: which part of a campaign one process runs, where many processes or machines share it.
#pragma once

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "transport/result.h"

namespace urnic::sim {

/// Every `of`th item of a list, the first of them at number - 1: neighbors in the list, which take alike
/// long, are in different shards. All shards together are the whole list, and no item is in two. The whole
/// list is shard 1 of 1.
struct Shard {
  std::uint64_t number = 1;  ///< 1 to `of`
  std::uint64_t of = 1;

  /// Whether the item at `position`, counted from 0, is one of its own.
  bool has(std::uint64_t position) const { return position % of == number - 1; }

  /// Parses "3/100": the third of a hundred.
  static Result<Shard, Error> parse(std::string_view text) {
    Shard shard;
    const auto slash = text.find('/');
    if (slash == std::string_view::npos || !read(text.substr(0, slash), shard.number) ||
        !read(text.substr(slash + 1), shard.of) || shard.number < 1 || shard.number > shard.of) {
      return Error{EINVAL, "a shard is written I/N with 1 <= I <= N, for instance 3/100"};
    }
    return shard;
  }

 private:
  static bool read(std::string_view digits, std::uint64_t& number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size();
  }
};

}  // namespace urnic::sim
