// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EventHandlers: the functions that get a device's asynchronous events.
#pragma once

#include <functional>

#include "transport/qp_state.h"

namespace urnic::nic {

/// Called by the engine, under its lock, except where noted; must neither block nor call the device. The
/// contexts are those given at creation.
struct EventHandlers {
  std::function<void(void* qp_context, transport::QpEvent event)> on_qp{};
  std::function<void(void* wq_context)> on_wq_fatal{};
  std::function<void(void* srq_context)> on_srq_limit{};
  std::function<void(void* cq_context)> on_cq_overrun{};
  /// The port's peer is gone for good. The only one that is called without the lock, by any thread; it may
  /// call the device, and must not block. False: not now, and it is called again later.
  std::function<bool()> on_link_lost{};
};

}  // namespace urnic::nic
