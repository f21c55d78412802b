// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Variables: the URNIC_* variables as one of the process's devices sees them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "transport/result.h"

namespace urnic::verbs_api {

/// Device 0 has the variables under their plain names. Device N looks for NAME_N first (URNIC_FAULT_1). Where
/// that is not set, it takes NAME, except for what no two NICs can have: addresses, MAC and lease.
class Variables {
 public:
  explicit Variables(unsigned device) : device_(device) {}

  unsigned device() const { return device_; }
  /// The variable's text; nothing when it is not set or empty. A program that has more rights than the one
  /// that started it (setuid, capabilities) takes nothing from that: it would write captures and open sockets
  /// for it.
  std::optional<std::string_view> text(const char* name) const;
  /// The name under which this device has the variable, or would have it: for messages, and for who sets it.
  std::string full_name(const char* name) const;

 private:
  unsigned device_;
};

/// EINVAL, with the variable as the device has it, and why its text is wrong.
Error invalid(const Variables& variables, const char* name, std::string_view why);

/// The variable as `parse` understands it, nothing when it is absent, or an error with its name.
template <typename Value>
Result<std::optional<Value>, Error> read(const Variables& variables, const char* name,
                                         Result<Value, Error> (*parse)(std::string_view)) {
  const auto text = variables.text(name);
  if (!text) return std::optional<Value>();
  const auto value = parse(*text);
  if (!value) return invalid(variables, name, value.error().message);
  return std::optional<Value>(value.value());
}

}  // namespace urnic::verbs_api
