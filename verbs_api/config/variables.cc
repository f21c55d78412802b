// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/config/variables.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace urnic::verbs_api {
namespace {

constexpr std::string_view kOfOneNic[] = {"URNIC_IP", "URNIC_IP6", "URNIC_MAC", "URNIC_LEASE_FD"};

std::optional<std::string_view> find(const char* name) {
  const char* const text = secure_getenv(name);
  return text == nullptr || *text == '\0' ? std::nullopt : std::optional<std::string_view>(text);
}

std::string numbered(const char* name, unsigned device) {
  return fmt::format("{}_{}", name, device);
}

bool can_be_shared(std::string_view name) {
  return std::ranges::find(kOfOneNic, name) == std::end(kOfOneNic);
}

}  // namespace

std::optional<std::string_view> Variables::text(const char* name) const {
  if (device_ == 0) return find(name);
  const auto own = find(numbered(name, device_).c_str());
  return own || !can_be_shared(name) ? own : find(name);
}

std::string Variables::full_name(const char* name) const {
  if (device_ == 0) return name;
  const std::string own = numbered(name, device_);
  const bool has_shared = can_be_shared(name) && find(name) && !find(own.c_str());
  return has_shared ? name : own;
}

Error invalid(const Variables& variables, const char* name, std::string_view why) {
  return Error{.code = EINVAL,
               .message = fmt::format("{}='{}': {}", variables.full_name(name),
                                      variables.text(name).value_or(""), why)};
}

}  // namespace urnic::verbs_api
