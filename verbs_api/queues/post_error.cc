// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/post_error.h"

#include <cerrno>

namespace urnic::verbs_api {

using nic::PostStatus;

int errno_of(PostStatus status) {
  switch (status) {
    case PostStatus::kPosted:
    case PostStatus::kLost:
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

int errno_of_send(PostStatus status, const nic::QueuePair& qp, bool is_inline) {
  if (status == PostStatus::kPosted) [[likely]] {
    return 0;
  }
  using nic::PostError;
  const nic::Personality& like = qp.personality();
  const bool has_too_many = status == PostStatus::kTooManySges;
  const bool is_too_long = status == PostStatus::kTooLong && is_inline;
  if (has_too_many && like.too_many_send_sges == PostError::kNoMemory) return ENOMEM;
  if (is_too_long && like.inline_too_long == PostError::kNoMemory) return ENOMEM;
  return errno_of(status);
}

}  // namespace urnic::verbs_api
