// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Contexts by a duplicate of their cmd_fd, and their objects by handle: other handles of what there is
// already, in this process. Processes have a device each, and cannot share.
#include <cerrno>
#include <memory>
#include <utility>

#include "verbs_api/abi/descriptor_identity.h"
#include "verbs_api/abi/object_registry.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/process_devices.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/memory/dm.h"
#include "verbs_api/memory/mr.h"
#include "verbs_api/memory/pd.h"

namespace urnic::verbs_api {
namespace {

/// Frees a handle, and leaves the object to the others.
template <typename Handle>
void forget(ObjectClaim& claim, Handle& handle) {
  claim.take_out();
  delete &handle;
}

ibv_context* import_device(int cmd_fd) {
  const auto identity = DescriptorIdentity::of(cmd_fd);
  if (!identity) return fail(EBADF);
  return or_out_of_memory([&]() -> ibv_context* {
    if (const auto found = ProcessDevices::instance().find(*identity)) {
      Context* const imported = Context::import(found->device, found->owner, found->file, cmd_fd);
      return imported != nullptr ? &imported->context : nullptr;
    }
    if (!CommandFile::is_one(cmd_fd)) {
      return fail(explain("import_device",
                          {.code = EINVAL, .message = "the descriptor belongs to no opened device"}));
    }
    return fail(explain(
        "import_device",
        {.code = EOPNOTSUPP,
         .message = "the device was opened by another process, or is closed: each process has its own"}));
  });
}

ibv_pd* import_pd(ibv_context& context, std::uint32_t handle) {
  Context& owner = Context::of(&context);
  if (owner.is_dead()) return fail(owner.dead_error());
  return or_out_of_memory([&]() -> ibv_pd* {
    auto domain = owner.file()->pds.find(handle);
    if (domain == nullptr) return fail(EINVAL);
    auto imported = std::make_unique<Pd>(context, std::move(domain));
    objects().add(imported.get());
    return imported.release();
  });
}

ibv_mr* import_mr(ibv_pd& pd, std::uint32_t handle) {
  if (const int fault = objects().check(&pd); fault != 0) return fail(fault);
  Context& owner = Context::of(pd.context);
  return or_out_of_memory([&]() -> ibv_mr* {
    auto registration = owner.file()->mrs.find(handle);
    if (registration == nullptr || !registration->is_registered) return fail(EINVAL);
    auto imported = std::make_unique<Mr>(pd, std::move(registration));
    objects().add(imported.get());
    return imported.release();
  });
}

ibv_dm* import_dm(ibv_context& context, std::uint32_t handle) {
  Context& owner = Context::of(&context);
  if (owner.is_dead()) return fail(owner.dead_error());
  return or_out_of_memory([&]() -> ibv_dm* {
    auto memory = owner.file()->dms.find(handle);
    if (memory == nullptr) return fail(EINVAL);
    auto imported = std::make_unique<Dm>(context, handle, std::move(memory));
    objects().add(imported.get());
    return imported.release();
  });
}

}  // namespace
}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::Dm;
using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::Mr;
using urnic::verbs_api::ObjectClaim;
using urnic::verbs_api::Pd;
using urnic::verbs_api::Verb;

extern "C" {

ibv_context* ibv_import_device(int cmd_fd) {
  if (const int error = injected_error(Verb::kImportDevice); error != 0) return fail(error);
  return urnic::verbs_api::import_device(cmd_fd);
}
ibv_pd* ibv_import_pd(ibv_context* context, uint32_t pd_handle) {
  return context != nullptr ? urnic::verbs_api::import_pd(*context, pd_handle) : fail(EINVAL);
}
ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t mr_handle) {
  return pd != nullptr ? urnic::verbs_api::import_mr(*pd, mr_handle) : fail(EINVAL);
}
ibv_dm* ibv_import_dm(ibv_context* context, uint32_t dm_handle) {
  return context != nullptr ? urnic::verbs_api::import_dm(*context, dm_handle) : fail(EINVAL);
}
void ibv_unimport_pd(ibv_pd* pd) {
  ObjectClaim claim(pd);
  if (claim.error() != 0) return;
  // What is in the domain needs it as long as it is there.
  const auto& inner = Pd::of(pd).inner;
  if (inner.use_count() > 1 || inner->users.load() == 0) urnic::verbs_api::forget(claim, Pd::of(pd));
}
void ibv_unimport_mr(ibv_mr* mr) {
  ObjectClaim claim(mr);
  if (claim.error() != 0) return;
  // What no other context has, this context frees when it closes.
  const auto& registration = Mr::of(mr).registration;
  if (registration.use_count() > 1 || !registration->is_registered) {
    Mr::of(mr).is_imported = true;
    urnic::verbs_api::forget(claim, Mr::of(mr));
  }
}
void ibv_unimport_dm(ibv_dm* dm) {
  ObjectClaim claim(dm);
  if (claim.error() == 0) urnic::verbs_api::forget(claim, Dm::of(dm));
}

}  // extern "C"
