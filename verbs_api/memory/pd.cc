// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/memory/pd.h"

#include <cerrno>
#include <mutex>
#include <utility>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/device/busy.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/fault/call_faults.h"

namespace urnic::verbs_api {

Pd::Pd(ibv_context& opened, std::shared_ptr<nic::ProtectionDomain> made)
    : ibv_pd{&opened, to_integer(made->id)}, inner(std::move(made)) {}

}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::explain;
using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::ObjectClaim;
using urnic::verbs_api::objects;
using urnic::verbs_api::or_out_of_memory;
using urnic::verbs_api::Pd;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (const int error = injected_error(Verb::kAllocPd); error != 0) return fail(error);
  Context& owner = Context::of(context);
  if (owner.is_dead()) return fail(owner.dead_error());
  return or_out_of_memory([&]() -> ibv_pd* {
    auto inner = owner.nic().allocate_pd();
    if (!inner) return fail(explain("alloc_pd", inner.error()));
    auto created = std::make_unique<Pd>(*context, std::move(inner).value());
    owner.file()->pds.add(created->handle, created->inner);
    objects().add(created.get());
    return created.release();
  });
}

int ibv_dealloc_pd(ibv_pd* pd) {
  if (const int error = injected_error(Verb::kDeallocPd); error != 0) return refuse(error);
  ObjectClaim claim(pd);
  if (claim.error() != 0) return refuse(claim.error());
  Context& owner = Context::of(pd->context);
  {
    const std::lock_guard lock(owner.mutex());
    if (Pd::of(pd).inner->users.load() != 0) return urnic::verbs_api::refuse_busy("dealloc_pd", *pd);
    claim.take_out();
    if (Pd::of(pd).parent != nullptr) {
      --Pd::of(pd).parent->users;
    } else {
      owner.file()->pds.remove(pd->handle, *Pd::of(pd).inner);
    }
    if (Pd::of(pd).td != nullptr) --Pd::of(pd).td->users;
  }
  delete &Pd::of(pd);
  return 0;
}

}  // extern "C"
