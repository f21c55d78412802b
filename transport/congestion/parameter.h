// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Parameter: a number of a controller that people can set, by its name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace urnic::transport::congestion {

/// `Parameters` is the struct that has it.
template <typename Parameters>
struct Parameter {
  std::string_view name;
  std::uint32_t Parameters::*value = nullptr;
  std::uint32_t least = 0;
  std::uint32_t most = UINT32_MAX;
};

/// Null where none is called so.
template <typename Parameters>
constexpr const Parameter<Parameters>* find(std::span<const Parameter<Parameters>> all,
                                            std::string_view name) {
  for (const Parameter<Parameters>& parameter : all) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

}  // namespace urnic::transport::congestion
