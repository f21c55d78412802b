// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Enumerations that C programs fill in.
#pragma once

#include <cstring>
#include <type_traits>

namespace urnic::verbs_api {

/// The number in `field`, which may be none of the enumerators, nor anything near them: C programs may write
/// any, and C++ may not even read such a value as what it is declared to be.
template <typename Enum>
std::underlying_type_t<Enum> number_in(const Enum& field) {
  std::underlying_type_t<Enum> number;
  std::memcpy(&number, &field, sizeof(number));
  return number;
}

}  // namespace urnic::verbs_api
