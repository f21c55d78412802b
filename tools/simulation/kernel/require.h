// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// require(): what only a broken device refuses.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "transport/result.h"

namespace urnic::kernel {

/// The value. Without one it throws std::runtime_error, for a person.
template <typename T>
T require(Result<T, Error> result) {
  if (!result) throw std::runtime_error("the simulated NIC refuses: " + result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace urnic::kernel
