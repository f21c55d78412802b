// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/congestion/parameter_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace urnic::nic {
namespace {

namespace congestion = transport::congestion;

bool is_of_ofed(std::string_view notification) {
  return notification != "enable" && notification != "per_address";
}

constexpr std::string_view kReactionPoint = "ecn/roce_rp/";
constexpr std::string_view kNotificationPoint = "ecn/roce_np/";

std::optional<std::uint64_t> number_in(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc{} && result.ptr == end ? std::optional(number) : std::nullopt;
}

/// For people: as it is, unless it would fill, or upset, their terminal.
std::string quoted(std::string_view text) {
  constexpr std::size_t kMostShown = 24;
  if (text.ends_with('\n')) text.remove_suffix(1);
  const bool is_plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return is_plain && text.size() <= kMostShown ? fmt::format("'{}'", text) : "what was written";
}

template <typename Parameters>
Result<void, Error> set_in(Parameters& parameters, std::span<const congestion::Parameter<Parameters>> table,
                           std::string_view name, std::string_view text) {
  const congestion::Parameter<Parameters>* const parameter = congestion::find(table, name);
  if (parameter == nullptr) {
    return Error{.code = ENOENT, .message = fmt::format("there is no parameter {}", name)};
  }
  const auto number = number_in(text);
  if (!number || *number < parameter->least || *number > parameter->most) {
    return Error{.code = EINVAL,
                 .message = fmt::format("{} cannot be {}: it is a whole number from {} to {}", name,
                                        quoted(text), parameter->least, parameter->most)};
  }
  parameters.*parameter->value = static_cast<std::uint32_t>(*number);
  return success();
}

}  // namespace

std::vector<ParameterFile> parameter_files(const congestion::Choice& choice,
                                           const congestion::NotificationParameters& notifications) {
  std::vector<ParameterFile> files;
  if (const auto* const dcqcn = std::get_if<congestion::DcqcnParameters>(&choice.parameters)) {
    for (const auto& parameter : congestion::kDcqcnParameters) {
      files.push_back({fmt::format("{}{}", kReactionPoint, parameter.name), dcqcn->*parameter.value});
    }
  }
  for (const auto& parameter : congestion::kNotificationParameters) {
    if (!is_of_ofed(parameter.name)) continue;
    files.push_back(
        {fmt::format("{}{}", kNotificationPoint, parameter.name), notifications.*parameter.value});
  }
  return files;
}

Result<void, Error> set_parameter_file(std::string_view name, std::string_view text,
                                       congestion::Choice& choice,
                                       congestion::NotificationParameters& notifications) {
  auto* const dcqcn = std::get_if<congestion::DcqcnParameters>(&choice.parameters);
  if (dcqcn != nullptr && name.starts_with(kReactionPoint)) {
    const std::span<const congestion::Parameter<congestion::DcqcnParameters>> table =
        congestion::kDcqcnParameters;
    return set_in(*dcqcn, table, name.substr(kReactionPoint.size()), text);
  }
  if (name.starts_with(kNotificationPoint) && is_of_ofed(name.substr(kNotificationPoint.size()))) {
    const std::span<const congestion::Parameter<congestion::NotificationParameters>> table =
        congestion::kNotificationParameters;
    return set_in(notifications, table, name.substr(kNotificationPoint.size()), text);
  }
  return Error{.code = ENOENT, .message = fmt::format("there is no parameter {}", name)};
}

}  // namespace urnic::nic
