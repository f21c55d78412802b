// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A context is closed: what the program made through it ends, as in the kernel, whether or not the program
// destroyed it.
#include <mutex>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/process_devices.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/flow/flow.h"
#include "verbs_api/memory/mr.h"
#include "verbs_api/memory/mw.h"
#include "verbs_api/queues/ah.h"
#include "verbs_api/queues/cq.h"
#include "verbs_api/queues/qp.h"
#include "verbs_api/queues/rwq_ind_table.h"
#include "verbs_api/queues/srq.h"
#include "verbs_api/queues/wq.h"
#include "verbs_api/queues/xrcd.h"

namespace urnic::verbs_api {
namespace {

template <typename Handle>
void end_all(const ibv_context& context, ObjectKind kind) {
  for (const void* const object : objects().all_of(context, kind)) {
    // One that another thread destroys, or has destroyed since, ends without us.
    const ObjectClaim claim(object, kind);
    if (claim.error() == 0) static_cast<Handle*>(const_cast<void*>(object))->end();
  }
}

void close(Context& closing) {
  ProcessDevices::instance().remove(closing);
  {
    const std::lock_guard lock(closing.mutex());
    closing.die(Context::Death::kClosed);
    const ibv_context& context = closing.context;
    end_all<Flow>(context, ObjectKind::kFlow);
    end_all<Qp>(context, ObjectKind::kQp);
    end_all<RwqIndTable>(context, ObjectKind::kIndirectionTable);
    end_all<Wq>(context, ObjectKind::kWq);
    end_all<Ah>(context, ObjectKind::kAh);
    end_all<Srq>(context, ObjectKind::kSrq);
    end_all<Mw>(context, ObjectKind::kMw);
    end_all<Mr>(context, ObjectKind::kMr);
    end_all<Cq>(context, ObjectKind::kCq);
    end_all<Xrcd>(context, ObjectKind::kXrcd);
  }
  closing.leave();
}

}  // namespace
}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" int ibv_close_device(ibv_context* context) {
  if (const int error = injected_error(Verb::kCloseDevice); error != 0) return refuse(error);
  Context& closing = Context::of(context);
  if (closing.is_dead()) return closing.dead_error();
  urnic::verbs_api::close(closing);
  return 0;
}
