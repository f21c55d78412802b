// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/models/memory_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <string_view>

namespace urnic::sim {
namespace {

std::string_view name_of(Region region) {
  switch (region) {
    case Region::kPrivate:
      return "private";
    case Region::kReadable:
      return "readable";
    case Region::kShared:
      return "shared";
    case Region::kAtomic:
      return "atomic";
  }
  return "";
}

bool same(const Range& a, const Range& b) {
  return a.region == b.region && a.offset == b.offset && a.length == b.length;
}

}  // namespace

std::string to_string(const Range& range) {
  return fmt::format("{}[{}+{}]", name_of(range.region), static_cast<std::int32_t>(range.offset),
                     range.length);
}

MemoryModel::MemoryModel(const std::array<std::uint32_t, kRegions>& sizes, std::uint64_t seed)
    : sizes_(sizes) {
  for (std::size_t region = 0; region < kRegions; ++region) {
    regions_[region].resize(sizes[region] + 2 * std::size_t{kGuardBytes});
    fill(regions_[region], Pattern(~(seed * kRegions + region)));
    expected_[region] = regions_[region];
  }
}

void MemoryModel::write(const Range& range, Pattern pattern, std::uint64_t position) {
  fill(at(range), pattern, position);
  std::ranges::copy(at(range), expected(range).begin());
}

void MemoryModel::begin(const Range& range) {
  if (range.length > 0) open_.push_back(range);
}

void MemoryModel::end(const Range& range) {
  if (range.length == 0) return;
  const auto found =
      std::find_if(open_.begin(), open_.end(), [&](const Range& open) { return same(open, range); });
  assert(found != open_.end());
  *found = open_.back();
  open_.pop_back();
}

std::optional<std::string> MemoryModel::settle(const Range& range, Pattern pattern, std::uint64_t position) {
  end(range);
  const auto memory = at(range);
  const std::size_t wrong = first_mismatch(memory, pattern, position);
  if (wrong != memory.size()) {
    const bool untouched = memory[wrong] == expected(range)[wrong];
    return fmt::format("wrong data at byte {} of {} ({})", wrong, to_string(range),
                       untouched ? "as it was before" : "neither the old nor the new");
  }
  std::ranges::copy(memory, expected(range).begin());
  return std::nullopt;
}

void MemoryModel::settle_as_is(const Range& range) {
  end(range);
  std::ranges::copy(at(range), expected(range).begin());
}

std::optional<std::string> MemoryModel::settle_either(const Range& range, Pattern pattern) {
  end(range);
  std::vector<std::byte> written(range.length);
  fill(written, pattern);
  const auto memory = at(range);
  const auto before = expected(range);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory[i] == before[i] || memory[i] == written[i]) continue;
    return fmt::format("byte {} of {} is neither what it was nor what was to be written", i,
                       to_string(range));
  }
  std::ranges::copy(memory, before.begin());
  return std::nullopt;
}

std::optional<std::string> MemoryModel::check() {
  for (const Range& range : open_) std::ranges::copy(at(range), expected(range).begin());
  for (std::size_t region = 0; region < kRegions; ++region) {
    if (std::memcmp(regions_[region].data(), expected_[region].data(), regions_[region].size()) == 0) {
      continue;
    }
    const auto [is, should] = std::ranges::mismatch(regions_[region], expected_[region]);
    const auto offset = is - regions_[region].begin() - std::ptrdiff_t{kGuardBytes};
    return fmt::format("byte {} of region {} (of {} bytes) changed though no operation may write there",
                       offset, name_of(static_cast<Region>(region)), sizes_[region]);
  }
  return std::nullopt;
}

}  // namespace urnic::sim
