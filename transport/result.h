// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Result: a value or the reason why there is none.
#pragma once

// Not <boost/outcome/result.hpp>: it includes Boost.System and Boost.Exception, which cost every file two
// seconds.
#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/policy/all_narrow.hpp>
#include <boost/outcome/success_failure.hpp>
#include <string>

namespace urnic {

/// `Result<T, E>` is "or a reason" as a value: test it with `if (result)`, read `result.value()` or
/// `result.error()`. Reading the wrong one is a bug and is not checked. `Result<void, E>` is made by
/// `success()`.
template <typename T, typename E>
using Result = boost::outcome_v2::basic_result<T, E, boost::outcome_v2::policy::all_narrow>;

using boost::outcome_v2::failure;
using boost::outcome_v2::success;

/// An error of the control path, for a person: what happened, why, and what to do about it.
struct Error {
  int code = 0;         ///< an errno value, for callers that must answer with one
  std::string message;  ///< one line without a full stop at the end
};

}  // namespace urnic
