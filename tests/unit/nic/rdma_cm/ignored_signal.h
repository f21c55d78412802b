// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// IgnoredSignal: a channel's, for tests that no program waits in.
#pragma once

#include "nic/rdma_cm/event_channel.h"

namespace urnic::nic::rdma_cm {

class IgnoredSignal final : public ChannelSignal {
  void set(bool) noexcept override {}
};

}  // namespace urnic::nic::rdma_cm
