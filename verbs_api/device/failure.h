// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How a verb says no: with errno to the program, and with a line on stderr to the person in front of it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <new>
#include <string_view>

#include "transport/result.h"

namespace urnic::verbs_api {

/// Sets errno to `code` and is the null pointer that goes with it.
std::nullptr_t fail(int code);
/// Sets errno to `code` and returns it, for verbs that answer with an errno value.
int refuse(int code);

/// Tells the person, always: for what the program cannot see, such as a port that does not open. Returns an
/// errno value for the program, never 0.
int report(const Error& error);
/// Tells the person with URNIC_VERBOSE or URNIC_EXPLAIN only: for what the program learns by `error.code`.
/// Returns that, and 0 never. What the network cannot do (EMSGSIZE, ENONET) is told always, and is EINVAL or
/// ENETUNREACH to the program.
int explain(std::string_view verb, const Error& error);

/// Runs `create`. When there is no memory, sets ENOMEM and returns a null pointer.
template <typename Create>
auto or_out_of_memory(Create create) -> decltype(create()) {
  try {
    return create();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

}  // namespace urnic::verbs_api
