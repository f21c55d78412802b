// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/fault/fault_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

namespace urnic::verbs_api {
namespace {

constexpr std::string_view kSeed = "seed=";

bool is_seed(std::string_view item) {
  return item.starts_with(kSeed);
}

/// A number that is none is left to the fault injector to complain about.
void read_seed(std::string_view item, std::uint64_t& seed) {
  item.remove_prefix(kSeed.size());
  std::uint64_t number = 0;
  const auto result = std::from_chars(item.data(), item.data() + item.size(), number);
  if (result.ec == std::errc{} && result.ptr == item.data() + item.size()) seed = number;
}

}  // namespace

Result<FaultList, Error> FaultList::parse(std::string_view text) {
  FaultList list;
  if (text.empty()) return list;
  bool is_seed_alone = true;
  bool has_gap = false;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    at = comma + 1;
    const bool is_call = item.starts_with("verb:");
    has_gap = has_gap || item.empty();
    if (!is_call && !item.starts_with("async:")) {
      if (is_seed(item)) read_seed(item, list.seed);
      is_seed_alone = is_seed_alone && is_seed(item);
      list.frames += fmt::format("{}{}", list.frames.empty() ? "" : ",", item);
      continue;
    }
    if (list.calls.size() + list.events.size() == kMaxFaults) {
      return Error{.code = EINVAL,
                   .message = fmt::format("there are more than {} faults of calls", kMaxFaults)};
    }
    if (is_call) {
      auto fault = CallFault::parse(item);
      if (!fault) return fault.error();
      list.calls.push_back(std::move(fault.value()));
    } else {
      auto fault = AsyncFault::parse(item);
      if (!fault) return fault.error();
      list.events.push_back(std::move(fault.value()));
    }
  }
  if (!list.has_any_of_calls()) {
    list.frames = text;
    return list;
  }
  if (has_gap) {
    return Error{.code = EINVAL,
                 .message = fmt::format("fault '{}': a word is missing between commas", text)};
  }
  const bool has_good_seed = list.frames == fmt::format("{}{}", kSeed, list.seed);
  if (is_seed_alone && has_good_seed) list.frames.clear();
  return list;
}

std::string FaultList::to_string() const {
  std::string text = frames;
  const auto add = [&](std::string_view item) {
    if (!text.empty()) text += ',';
    text += item;
  };
  if (has_any_of_calls() && frames.find(kSeed) == std::string::npos) add(fmt::format("{}{}", kSeed, seed));
  for (const CallFault& fault : calls) add(fault.text);
  for (const AsyncFault& fault : events) add(fault.text);
  return text;
}

}  // namespace urnic::verbs_api
