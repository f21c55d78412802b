// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The errors that calls of a device end with most often, by their errno.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include "transport/result.h"

namespace urnic::nic {

/// The request makes no sense, or is not allowed now.
inline Error invalid(std::string message) {
  return {.code = EINVAL, .message = std::move(message)};
}

/// The request makes sense, but this device cannot do it.
inline Error not_offered(std::string message) {
  return {.code = EOPNOTSUPP, .message = std::move(message)};
}

/// There is no more of it.
inline Error out_of(const char* message) {
  return {.code = ENOMEM, .message = message};
}

/// Others still use it.
inline Error busy(const char* message) {
  return {.code = EBUSY, .message = message};
}

/// What every call returns in the child of a fork.
inline Error abandoned_error() {
  return {.code = EIO, .message = "this process is the child of a fork; the device belongs to its parent"};
}

}  // namespace urnic::nic
