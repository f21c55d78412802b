// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Multicast groups of datagram queue pairs. RoCE has no subnet manager to join at: attaching is all there is.
#include <cerrno>
#include <new>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/device/address.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/queues/qp.h"

using urnic::verbs_api::Context;
using urnic::verbs_api::explain;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::objects;
using urnic::verbs_api::Qp;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" {

// The LID is of InfiniBand links.
int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t) {
  if (const int error = injected_error(Verb::kAttachMcast); error != 0) return refuse(error);
  if (const int fault = objects().check(qp); fault != 0) return refuse(fault);
  Context& owner = Context::of(qp->context);
  try {
    const auto attached = owner.nic().attach_multicast(*Qp::of(qp).inner, urnic::verbs_api::to_gid(*gid));
    return attached ? 0 : refuse(explain("attach_mcast", attached.error()));
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM);
  }
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t) {
  if (const int error = injected_error(Verb::kDetachMcast); error != 0) return refuse(error);
  if (const int fault = objects().check(qp); fault != 0) return refuse(fault);
  Context& owner = Context::of(qp->context);
  const auto detached = owner.nic().detach_multicast(*Qp::of(qp).inner, urnic::verbs_api::to_gid(*gid));
  return detached ? 0 : refuse(explain("detach_mcast", detached.error()));
}

}  // extern "C"
