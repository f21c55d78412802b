// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What posting has in common, whichever way a work request comes.
#pragma once

#include "nic/queues/queue_pair.h"

namespace urnic::verbs_api {

/// 0, or the errno value that libibverbs' users expect.
int errno_of(nic::PostStatus status);
/// The same of a send, as the NIC says it that the device is like.
int errno_of_send(nic::PostStatus status, const nic::QueuePair& qp, bool is_inline);

}  // namespace urnic::verbs_api
