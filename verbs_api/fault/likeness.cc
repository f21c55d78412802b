// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/fault/likeness.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace urnic::verbs_api {
namespace {

constexpr std::size_t kMostNames = 3;
constexpr std::size_t kMostChanges = 3;
/// A shorter part says too little.
constexpr std::size_t kLeastPart = 3;
/// No name is longer: what a person wrote is not looked at beyond this.
constexpr std::size_t kLongest = 64;

/// How many letters must be put in, taken out or replaced (Levenshtein's distance).
std::size_t changes_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string names_like(std::string_view name, std::span<const std::string_view> names) {
  if (name.empty() || name.size() > kLongest) return {};
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string_view each : names) {
    const std::size_t changes = changes_between(name, each);
    const bool is_part = (name.size() >= kLeastPart && each.find(name) != std::string_view::npos) ||
                         (each.size() >= kLeastPart && name.find(each) != std::string_view::npos);
    if (changes <= std::min(kMostChanges, name.size() / 2) || is_part) near.emplace_back(changes, each);
  }
  std::sort(near.begin(), near.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(near.size(), kMostNames); ++i) {
    if (i > 0) text += ", ";
    text += near[i].second;
  }
  return text;
}

}  // namespace urnic::verbs_api
