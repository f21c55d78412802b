// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CompChannel: a completion channel as programs hold it.
#pragma once

#include "nic/queues/completion_channel.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// `fd` is the inner channel's, and `refcnt` the number of completion queues on it, under the context's
/// mutex.
struct CompChannel : ibv_comp_channel {
  explicit CompChannel(ibv_context& opened) : ibv_comp_channel{&opened, -1, 0} { fd = inner.fd(); }
  static CompChannel& of(ibv_comp_channel* channel) { return *static_cast<CompChannel*>(channel); }

  nic::CompletionChannel inner;
};

}  // namespace urnic::verbs_api
