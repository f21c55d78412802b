// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/post_error.h"

#include <cerrno>

namespace urnic::verbs_api {

using nic::PostStatus;

int errno_of(PostStatus status) {
  switch (status) {
    case PostStatus::kPosted:
      return 0;
    case PostStatus::kQueueFull:
      return ENOMEM;
    case PostStatus::kTooManySges:
    case PostStatus::kTooLong:
    case PostStatus::kWrongState:
    case PostStatus::kBadRequest:
      return EINVAL;
    case PostStatus::kNotSupported:
      return EOPNOTSUPP;
    case PostStatus::kAbandoned:
      return EIO;
  }
  return EINVAL;
}

}  // namespace urnic::verbs_api
