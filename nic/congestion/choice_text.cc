#include "nic/congestion/choice_text.h"

#include <fmt/core.h>
#include <fmt/format.h>

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

using namespace transport::congestion;

template <typename... Arguments>
Error bad(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error{.code = EINVAL, .message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

using AnyParameters = decltype(Choice::parameters);

/// A controller with one set of parameters. The set without a name is what it has by default.
struct Kind {
  std::string_view controller;
  std::string_view set;
  AnyParameters parameters;
};

const std::span<const Kind> kinds() {
  static const std::array kAll = {
      Kind{"none", "", std::monostate{}},     Kind{"dcqcn", "", DcqcnParameters{}},
      Kind{"dcqcn", "cx", DcqcnParameters{}}, Kind{"dcqcn", "paper", kDcqcnOfPaper},
      Kind{"dcqcn", "hpcc", kDcqcnOfHpcc},    Kind{"timely", "", TimelyParameters{}},
      Kind{"timely", "hpcc", kTimelyOfHpcc},  Kind{"swift", "", SwiftParameters{}},
      Kind{"fixed", "", FixedParameters{}},
  };
  return kAll;
}

const Kind* find_kind(std::string_view controller, std::string_view set) {
  for (const Kind& kind : kinds()) {
    if (kind.controller == controller && kind.set == set) return &kind;
  }
  return nullptr;
}

constexpr std::string_view kControllers = "none, dcqcn, timely, swift, fixed";

// Which parameters a struct has.
std::span<const Parameter<DcqcnParameters>> table_of(const DcqcnParameters&) {
  return kDcqcnParameters;
}
std::span<const Parameter<TimelyParameters>> table_of(const TimelyParameters&) {
  return kTimelyParameters;
}
std::span<const Parameter<SwiftParameters>> table_of(const SwiftParameters&) {
  return kSwiftParameters;
}
std::span<const Parameter<FixedParameters>> table_of(const FixedParameters&) {
  return kFixedParameters;
}
std::span<const Parameter<NotificationParameters>> table_of(const NotificationParameters&) {
  return kNotificationParameters;
}

enum class Outcome : std::uint8_t { kSet, kUnknown, kOutOfRange };

struct Setting {
  std::string_view name;
  std::uint64_t value = 0;
};

template <typename Parameters>
Outcome set(Parameters& parameters, const Setting& setting) {
  const Parameter<Parameters>* const parameter = find(table_of(parameters), setting.name);
  if (parameter == nullptr) return Outcome::kUnknown;
  if (setting.value < parameter->least || setting.value > parameter->most) return Outcome::kOutOfRange;
  parameters.*parameter->value = static_cast<std::uint32_t>(setting.value);
  return Outcome::kSet;
}

template <>
Outcome set(std::monostate&, const Setting&) {
  return Outcome::kUnknown;
}

Outcome set_line_rate(Choice& choice, const Setting& setting) {
  if (setting.name != "line_rate") return Outcome::kUnknown;
  if (setting.value == 0 || setting.value > kMaxMegabits) return Outcome::kOutOfRange;
  choice.line_rate = setting.value * kMegabit;
  return Outcome::kSet;
}

Outcome apply(CongestionOptions& options, const Setting& setting) {
  Outcome outcome =
      std::visit([&](auto& parameters) { return set(parameters, setting); }, options.choice.parameters);
  if (outcome == Outcome::kUnknown) outcome = set_line_rate(options.choice, setting);
  if (outcome == Outcome::kUnknown) outcome = set(options.notifications, setting);
  return outcome;
}

struct Names {
  std::vector<std::string_view>& names;

  template <typename Parameters>
  void operator()(const Parameters& parameters) const {
    for (const auto& parameter : table_of(parameters)) names.push_back(parameter.name);
  }
  void operator()(std::monostate) const {}
};

/// For people who mistyped one.
std::string names_in(const CongestionOptions& options) {
  std::vector<std::string_view> names;
  std::visit(Names{names}, options.choice.parameters);
  names.push_back("line_rate");
  Names{names}(options.notifications);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string sets_of(std::string_view controller) {
  std::vector<std::string_view> sets;
  for (const Kind& kind : kinds()) {
    if (kind.controller == controller && !kind.set.empty()) sets.push_back(kind.set);
  }
  return sets.empty() ? "" : fmt::format("'{}', or ", fmt::join(sets, "', '"));
}

bool read_number(std::string_view text, std::uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc{} && result.ptr == end;
}

}  // namespace

Result<CongestionOptions, Error> parse_congestion(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view controller = text.substr(0, colon);
  const Kind* kind = find_kind(controller, "");
  if (kind == nullptr) return bad("'{}' is no controller; there are {}", controller, kControllers);
  CongestionOptions options{.choice = {.parameters = kind->parameters}, .notifications = {}};

  std::vector<std::string_view> given;
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  for (bool is_first = true; !rest.empty(); is_first = false) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      kind = is_first && !word.empty() ? find_kind(controller, word) : nullptr;
      if (kind == nullptr) {
        return bad("'{}' is not understood: behind '{}:' stand {}NAME=NUMBER, with commas between", word,
                   controller, sets_of(controller));
      }
      options.choice.parameters = kind->parameters;
      continue;
    }
    Setting setting{.name = word.substr(0, equals)};
    if (!read_number(word.substr(equals + 1), setting.value)) {
      return bad("'{}' needs a whole number behind '='", word);
    }
    for (const std::string_view name : given) {
      if (name == setting.name) return bad("'{}' is given twice", name);
    }
    given.push_back(setting.name);
    switch (apply(options, setting)) {
      case Outcome::kUnknown:
        return bad("'{}' is no parameter of '{}'; there are {}", setting.name, controller, names_in(options));
      case Outcome::kOutOfRange:
        return bad("{} cannot be {}", setting.name, setting.value);
      case Outcome::kSet:
        break;
    }
  }
  return options;
}

}  // namespace urnic::nic
