// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/cm/counters.h"

namespace urnic::nic::cm {
namespace {

/// The names of a group and of a kind in one.
struct CounterName {
  std::array<char, 32> text{};
  std::size_t size = 0;

  constexpr void append(std::string_view part) {
    for (const char c : part) text[size++] = c;
  }
  constexpr std::string_view view() const { return {text.data(), size}; }
};

consteval auto make_names() {
  constexpr std::size_t kKinds = transport::count_of<MessageKind>();
  std::array<CounterName, transport::count_of<CounterGroup>() * kKinds> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i].append(name_of(static_cast<CounterGroup>(i / kKinds)));
    names[i].append("_");
    names[i].append(name_of(static_cast<MessageKind>(i % kKinds)));
  }
  return names;
}

constexpr auto kNames = make_names();

}  // namespace

std::uint64_t Counters::value(CounterGroup group) const {
  std::uint64_t sum = 0;
  for (std::size_t kind = 0; kind < kKinds; ++kind) sum += value(group, static_cast<MessageKind>(kind));
  return sum;
}

std::vector<std::pair<std::string_view, std::uint64_t>> Counters::all() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> all;
  all.reserve(kNames.size() + 3);
  for (std::size_t i = 0; i < kNames.size(); ++i) all.emplace_back(kNames[i].view(), cells_[i].value());
  all.emplace_back("cm_rx_malformed", malformed());
  all.emplace_back("cm_rx_unexpected", unexpected());
  all.emplace_back("cm_tx_dropped", dropped());
  return all;
}

}  // namespace urnic::nic::cm
