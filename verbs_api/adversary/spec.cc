// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/adversary/spec.h"

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <vector>

#include "nic/adversary/draw.h"
#include "verbs_api/fault/likeness.h"

namespace urnic::verbs_api {
namespace {

using nic::AdversarySettings;
using nic::Behavior;
using nic::Behaviors;

constexpr double kLargestScale = 100;

Error unfit(std::string_view why) {
  return {.code = EINVAL,
          .message = fmt::format("{} (seed=N, only=NAME+NAME, off=NAME+NAME, scale=X, log=FILE)", why)};
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Behaviors usual_behaviors() {
  Behaviors usual;
  for (const nic::BehaviorRow& row : nic::all_behaviors()) {
    usual.set(static_cast<std::size_t>(row.behavior), row.is_usual);
  }
  return usual;
}

Result<Behaviors, Error> read_behaviors(std::string_view text) {
  Behaviors behaviors;
  for (const std::string_view name : parts_of(text, '+')) {
    if (name == "all") {
      behaviors |= usual_behaviors();
      continue;
    }
    const auto behavior = nic::behavior_named(name);
    if (!behavior) {
      std::vector<std::string_view> names;
      for (const nic::BehaviorRow& row : nic::all_behaviors()) names.push_back(row.name);
      const std::string like = names_like(name, names);
      return unfit(fmt::format("there is no behavior '{}'{}", name,
                               like.empty() ? "; 'urnic chaos --list' names all" : "; is it " + like + "?"));
    }
    behaviors.set(static_cast<std::size_t>(*behavior));
  }
  return behaviors;
}

/// Once in `times` frames.
void add_fault(std::string& faults, const AdversarySettings& settings, Behavior behavior,
               std::string_view what, unsigned times) {
  if (!settings.behaviors.test(static_cast<std::size_t>(behavior))) return;
  faults += fmt::format("{}{}:p={}", faults.empty() ? "" : ",", what, 1.0 / times);
}

/// So many, in the first seconds of the program.
void add_events(std::string& faults, const AdversarySettings& settings) {
  constexpr std::string_view kEvents[] = {"GID_CHANGE", "CLIENT_REREGISTER", "PKEY_CHANGE",
                                          "SM_CHANGE",  "LID_CHANGE",        "COMM_EST"};
  constexpr std::uint64_t kCount = 6;
  constexpr std::uint64_t kFirstMost = 20;  // ms; each may come twice as late as the one before
  if (!settings.behaviors.test(static_cast<std::size_t>(Behavior::kUnexpectedEvents))) return;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::uint64_t drawn = nic::draw(settings.seed, Behavior::kUnexpectedEvents, 1, i);
    const std::string_view event = kEvents[drawn % std::size(kEvents)];
    faults += fmt::format("{}async:{}:after={}ms", faults.empty() ? "" : ",", event,
                          1 + (drawn >> 8) % (kFirstMost << i));
  }
}

}  // namespace

Result<AdversarySettings, Error> parse_adversary(std::string_view text) {
  AdversarySettings settings;
  bool has_only = false;
  Behaviors off;
  for (const std::string_view part : parts_of(text, ',')) {
    const std::size_t sign = part.find('=');
    const std::string_view word = part.substr(0, sign);
    const std::string_view value = sign == std::string_view::npos ? "" : part.substr(sign + 1);
    if (word == "seed") {
      if (!read_number(value, settings.seed)) return unfit(fmt::format("'{}' is no seed", value));
    } else if (word == "only" || word == "off") {
      const auto behaviors = read_behaviors(value);
      if (!behaviors) return behaviors.error();
      (word == "only" ? settings.behaviors : off) |= behaviors.value();
      has_only = has_only || word == "only";
    } else if (word == "scale") {
      if (!read_number(value, settings.scale) || !(settings.scale > 0 && settings.scale <= kLargestScale)) {
        return unfit(fmt::format("'{}' is no scale above 0 and up to {}", value, kLargestScale));
      }
    } else if (word == "log") {
      if (value.empty()) return unfit("log= needs the name of a file");
      settings.log_file = value;
    } else {
      return unfit(fmt::format("'{}' is not understood", part));
    }
  }
  if (!has_only) settings.behaviors = nic::behaviors_of(settings.seed);
  settings.behaviors &= ~off;
  return settings;
}

// Rare enough that the retry count of a usual program bears it.
std::string faults_of(const AdversarySettings& settings) {
  std::string faults;
  add_fault(faults, settings, Behavior::kLostPackets, "drop:service=rc", 1000);
  add_fault(faults, settings, Behavior::kDuplicatedPackets, "dup:service=rc", 200);
  add_fault(faults, settings, Behavior::kReorderedPackets, "reorder:service=rc:by=2", 500);
  add_fault(faults, settings, Behavior::kLostDatagrams, "drop:service=ud", 100);
  add_fault(faults, settings, Behavior::kLostDatagrams, "drop:service=uc", 100);
  add_events(faults, settings);
  if (!faults.empty()) faults += fmt::format(",seed={}", settings.seed);
  return faults;
}

}  // namespace urnic::verbs_api
