// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which object of a program an event of the device concerns. queues/event_delivery.cc, which knows the
// objects, defines it.
#pragma once

#include "transport/qp_state.h"

namespace urnic::verbs_api {

/// The device's event handlers, which the engine calls under its lock: `qp` (QpHandles), `wq`, `srq` and `cq`
/// are what the verbs gave to the device as context when they created the object.
void deliver_qp_event(void* qp, transport::QpEvent event) noexcept;
void deliver_wq_fatal(void* wq) noexcept;
void deliver_srq_limit(void* srq) noexcept;
void deliver_cq_overrun(void* cq) noexcept;

}  // namespace urnic::verbs_api
