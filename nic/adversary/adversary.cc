// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/adversary/adversary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "nic/adversary/placement.h"

namespace urnic::nic {

using transport::Duration;

Behaviors behaviors_of(std::uint64_t seed) {
  Behaviors behaviors;
  for (const BehaviorRow& row : all_behaviors()) {
    const bool is_drawn = (draw(seed, row.behavior, 0, 0) & 1) != 0;
    behaviors.set(static_cast<std::size_t>(row.behavior), row.is_usual && is_drawn);
  }
  return behaviors;
}

Duration Adversary::pause(Behavior behavior, std::uint64_t object, std::uint64_t ordinal,
                          Duration longest) const {
  // Another number than the one that strikes() looks at.
  const std::uint64_t drawn = spread(number(behavior, object, ordinal));
  const double share = static_cast<double>(drawn >> 11) * 0x1p-53;
  return Duration(
      static_cast<Duration::rep>(static_cast<double>(longest.count()) * settings_.scale * share * share));
}

void Adversary::note(Behavior behavior, std::string_view object, std::uint64_t number, std::string_view thing,
                     std::uint64_t ordinal, Duration pause) {
  std::array<char, 24> of_object;
  const std::size_t size_of_object =
      number == 0 ? 0 : fmt::format_to_n(of_object.data(), of_object.size(), " {}", number).size;
  std::array<char, 24> of_pause;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(pause).count();
  const std::size_t size_of_pause =
      pause == Duration{} ? 0 : fmt::format_to_n(of_pause.data(), of_pause.size(), ", {} us", us).size;
  std::array<char, ActLog::kLineBytes> text;
  const auto written =
      fmt::format_to_n(text.data(), text.size(), "{}: {}{}, {} {}{}", row_of(behavior).name, object,
                       std::string_view(of_object.data(), size_of_object), thing, ordinal,
                       std::string_view(of_pause.data(), std::min(size_of_pause, of_pause.size())));
  log_.add({text.data(), std::min(written.size, text.size())});
}

void Adversary::settle_all() {
  while (!pending_.empty()) pending_.back()->settle();
}

void Adversary::settle_others(const Placement& writer, std::span<const std::byte> memory) {
  const auto is_in_the_way = [&](const Placement* placement) {
    return placement != &writer && placement->is_about_to_write(memory);
  };
  while (true) {
    const auto found = std::find_if(pending_.begin(), pending_.end(), is_in_the_way);
    if (found == pending_.end()) return;
    (*found)->settle();
  }
}

void spin(Duration pause) {
  const auto end = std::chrono::steady_clock::now() + pause;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace urnic::nic
