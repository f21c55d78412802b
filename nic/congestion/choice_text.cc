// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/congestion/choice_text.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace urnic::nic {
namespace {

namespace congestion = transport::congestion;

template <typename... Arguments>
Error bad_choice(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error{.code = EINVAL, .message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

using ControllerParameters = decltype(congestion::Choice::parameters);

/// A controller with one set of parameters. The set without a name is what it has by default.
struct ControllerSet {
  std::string_view controller;
  std::string_view set;
  ControllerParameters parameters;
};

std::span<const ControllerSet> controller_sets() {
  static const std::array kAll = {
      ControllerSet{"none", "", std::monostate{}},
      ControllerSet{"dcqcn", "", congestion::DcqcnParameters{}},
      ControllerSet{"dcqcn", "cx", congestion::DcqcnParameters{}},
      ControllerSet{"dcqcn", "paper", congestion::kDcqcnOfPaper},
      ControllerSet{"dcqcn", "hpcc", congestion::kDcqcnOfHpcc},
      ControllerSet{"timely", "", congestion::TimelyParameters{}},
      ControllerSet{"timely", "hpcc", congestion::kTimelyOfHpcc},
      ControllerSet{"swift", "", congestion::SwiftParameters{}},
      ControllerSet{"fixed", "", congestion::FixedParameters{}},
  };
  return kAll;
}

const ControllerSet* find_controller_set(std::string_view controller, std::string_view set) {
  for (const ControllerSet& chosen : controller_sets()) {
    if (chosen.controller == controller && chosen.set == set) return &chosen;
  }
  return nullptr;
}

constexpr std::string_view kControllers = "none, dcqcn, timely, swift, fixed";

// Which parameters a struct has.
std::span<const congestion::Parameter<congestion::DcqcnParameters>> table_of(
    const congestion::DcqcnParameters&) {
  return congestion::kDcqcnParameters;
}
std::span<const congestion::Parameter<congestion::TimelyParameters>> table_of(
    const congestion::TimelyParameters&) {
  return congestion::kTimelyParameters;
}
std::span<const congestion::Parameter<congestion::SwiftParameters>> table_of(
    const congestion::SwiftParameters&) {
  return congestion::kSwiftParameters;
}
std::span<const congestion::Parameter<congestion::FixedParameters>> table_of(
    const congestion::FixedParameters&) {
  return congestion::kFixedParameters;
}
std::span<const congestion::Parameter<congestion::NotificationParameters>> table_of(
    const congestion::NotificationParameters&) {
  return congestion::kNotificationParameters;
}

enum class SettingOutcome : std::uint8_t { kSet, kUnknown, kOutOfRange };

struct ControllerSetting {
  std::string_view name;
  std::uint64_t value = 0;
};

template <typename Parameters>
SettingOutcome set_parameter(Parameters& parameters, const ControllerSetting& setting) {
  const congestion::Parameter<Parameters>* const parameter =
      congestion::find(table_of(parameters), setting.name);
  if (parameter == nullptr) return SettingOutcome::kUnknown;
  if (setting.value < parameter->least || setting.value > parameter->most) return SettingOutcome::kOutOfRange;
  parameters.*parameter->value = static_cast<std::uint32_t>(setting.value);
  return SettingOutcome::kSet;
}

template <>
SettingOutcome set_parameter(std::monostate&, const ControllerSetting&) {
  return SettingOutcome::kUnknown;
}

SettingOutcome set_line_rate(CongestionOptions& options, const ControllerSetting& setting) {
  if (setting.name != "line_rate") return SettingOutcome::kUnknown;
  if (setting.value == 0 || setting.value > congestion::kMaxMegabits) return SettingOutcome::kOutOfRange;
  options.choice.line_rate = setting.value * congestion::kMegabit;
  options.has_line_rate = true;
  return SettingOutcome::kSet;
}

SettingOutcome apply_setting(CongestionOptions& options, const ControllerSetting& setting) {
  SettingOutcome outcome = std::visit([&](auto& parameters) { return set_parameter(parameters, setting); },
                                      options.choice.parameters);
  if (outcome == SettingOutcome::kUnknown) outcome = set_line_rate(options, setting);
  if (outcome == SettingOutcome::kUnknown) outcome = set_parameter(options.notifications, setting);
  return outcome;
}

struct ParameterNames {
  std::vector<std::string_view>& names;

  template <typename Parameters>
  void operator()(const Parameters& parameters) const {
    for (const auto& parameter : table_of(parameters)) names.push_back(parameter.name);
  }
  void operator()(std::monostate) const {}
};

/// For people who mistyped one.
std::string parameters_of(const CongestionOptions& options) {
  std::vector<std::string_view> names;
  std::visit(ParameterNames{names}, options.choice.parameters);
  names.push_back("line_rate");
  ParameterNames{names}(options.notifications);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string sets_of(std::string_view controller) {
  std::vector<std::string_view> sets;
  for (const ControllerSet& chosen : controller_sets()) {
    if (chosen.controller == controller && !chosen.set.empty()) sets.push_back(chosen.set);
  }
  return sets.empty() ? "" : fmt::format("'{}', or ", fmt::join(sets, "', '"));
}

bool read_parameter(std::string_view text, std::uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc{} && result.ptr == end;
}

}  // namespace

Result<CongestionOptions, Error> parse_congestion(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view controller = text.substr(0, colon);
  const ControllerSet* chosen = find_controller_set(controller, "");
  if (chosen == nullptr) return bad_choice("'{}' is no controller; there are {}", controller, kControllers);
  CongestionOptions options{.choice = {.parameters = chosen->parameters}, .notifications = {}};

  std::vector<std::string_view> given;
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  for (bool is_first = true; !rest.empty(); is_first = false) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      chosen = is_first && !word.empty() ? find_controller_set(controller, word) : nullptr;
      if (chosen == nullptr) {
        return bad_choice("'{}' is not understood: after '{}:' come {}NAME=NUMBER, with commas between", word,
                          controller, sets_of(controller));
      }
      options.choice.parameters = chosen->parameters;
      continue;
    }
    ControllerSetting setting{.name = word.substr(0, equals)};
    if (!read_parameter(word.substr(equals + 1), setting.value)) {
      return bad_choice("'{}' needs a whole number after '='", word);
    }
    for (const std::string_view name : given) {
      if (name == setting.name) return bad_choice("'{}' is given twice", name);
    }
    given.push_back(setting.name);
    switch (apply_setting(options, setting)) {
      case SettingOutcome::kUnknown:
        return bad_choice("'{}' is no parameter of '{}'; there are {}", setting.name, controller,
                          parameters_of(options));
      case SettingOutcome::kOutOfRange:
        return bad_choice("{} cannot be {}", setting.name, setting.value);
      case SettingOutcome::kSet:
        break;
    }
  }
  if (const auto* const swift = std::get_if<congestion::SwiftParameters>(&options.choice.parameters)) {
    if (swift->fs_max_cwnd <= swift->fs_min_cwnd) {
      return bad_choice("fs_max_cwnd must be more than fs_min_cwnd");
    }
    if (swift->max_window < swift->min_window) return bad_choice("max_window cannot be less than min_window");
  }
  return options;
}

}  // namespace urnic::nic
