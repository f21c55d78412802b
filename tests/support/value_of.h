// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// value_of(): what a test cannot go on without, for functions that return something, where ASSERT_TRUE cannot
// stand.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "transport/result.h"

namespace urnic::test {

/// Ends the test, as an exception does: GoogleTest tells of it.
[[noreturn]] inline void end_test(const std::string& why) {
  throw std::runtime_error(why);
}

/// The value; without one the test ends, and says the error.
template <typename Value, typename Reason>
Value value_of(Result<Value, Reason> result) {
  if (result) return std::move(result.value());
  if constexpr (requires { result.error().message; }) {
    end_test(result.error().message);
  } else {
    end_test("there is no value");
  }
}

/// The same of a pointer or an optional.
template <typename Pointer>
Pointer there(Pointer pointer, const std::string& why = "there is none") {
  if (!pointer) end_test(why);
  return pointer;
}

}  // namespace urnic::test
