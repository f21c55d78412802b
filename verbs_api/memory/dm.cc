// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/memory/dm.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/memory/mr.h"

namespace urnic::verbs_api {
namespace {

/// What hardware with device memory asks of offsets and lengths; programs rely on being told (pyverbs does).
constexpr std::uint64_t kGranule = 4;

/// EINVAL, EFAULT as errno, or the bytes.
Result<std::span<std::byte>, int> find(ibv_dm* dm, std::uint64_t offset, std::size_t length) {
  const std::span<std::byte> all = Dm::of(dm).inner->bytes();
  if (offset % kGranule != 0 || length % kGranule != 0) return EINVAL;
  if (offset > all.size() || length > all.size() - offset) return EFAULT;
  return all.subspan(offset, length);
}

int copy_to(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) noexcept {
  const auto bytes = find(dm, offset, length);
  if (!bytes) return bytes.error();
  if (length > 0) std::memcpy(bytes.value().data(), from, length);
  return 0;
}

int copy_from(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t length) noexcept {
  const auto bytes = find(dm, offset, length);
  if (!bytes) return bytes.error();
  if (length > 0) std::memcpy(to, bytes.value().data(), length);
  return 0;
}

}  // namespace

Dm::Dm(ibv_context& opened, std::uint32_t number, std::shared_ptr<nic::DeviceMemory> made)
    : ibv_dm{}, inner(std::move(made)) {
  context = &opened;
  handle = number;
  memcpy_to_dm = copy_to;
  memcpy_from_dm = copy_from;
}

// A forked child has memory, if no NIC: it may allocate, copy and free.
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr) noexcept {
  Context& owner = Context::of(context);
  if (owner.is_closed()) return fail(owner.dead_error());
  if (attr == nullptr || attr->comp_mask != 0) return fail(EINVAL);
  const std::uint64_t most = owner.nic().config().personality->max_dm_size;
  if (most == 0) return fail(EOPNOTSUPP);
  if (attr->length > most) return fail(ENOMEM);
  return or_out_of_memory([&]() -> ibv_dm* {
    auto memory = owner.nic().device_memory().allocate(attr->length, attr->log_align_req);
    if (!memory) return fail(explain("alloc_dm", memory.error()));
    auto created = std::make_unique<Dm>(*context, owner.file()->next_dm++, std::move(memory.value()));
    // Nothing is imported by a forked child, and the parent's threads may have held the lock.
    if (!owner.is_forked()) owner.file()->dms.add(created->handle, created->inner);
    objects().add(created.get());
    return created.release();
  });
}

int free_dm(ibv_dm* dm) noexcept {
  ObjectClaim claim(dm);
  if (claim.error() != 0) return claim.error();
  Context& owner = Context::of(dm->context);
  if (const std::uint32_t users = Dm::of(dm).inner->users.load(); users != 0) {
    return explain("free_dm",
                   {.code = EBUSY,
                    .message = fmt::format("{} memory regions still use it: deregister them first", users)});
  }
  claim.take_out();
  if (!owner.is_forked()) owner.file()->dms.remove(dm->handle, *Dm::of(dm).inner);
  delete &Dm::of(dm);
  return 0;
}

ibv_mr* register_dm(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                    unsigned int flags) noexcept {
  const auto parsed = parse_registration_flags(flags);
  if (!parsed) return fail(parsed.error());
  if (!parsed.value().is_zero_based || parsed.value().backing != nic::Backing::kMapped) return fail(EINVAL);
  if (const int fault = objects().check(pd); fault != 0) return fail(fault);
  if (const int fault = objects().check_of(*pd->context, dm); fault != 0) return fail(fault);
  const auto bytes = find(dm, offset, length);
  if (!bytes) return fail(EINVAL);
  // Device memory has no pages: an empty region may begin anywhere.
  const nic::Backing backing = length == 0 ? nic::Backing::kNothing : nic::Backing::kMapped;
  Mr* const mr = register_region(*pd, "reg_dm_mr",
                                 {.access = parsed.value().access,
                                  .length = length,
                                  .memory = bytes.value().data(),
                                  .backing = backing});
  if (mr == nullptr) return nullptr;
  mr->addr = nullptr;  // programs reach it through the NIC only
  mr->registration->is_zero_based = true;
  mr->registration->device_memory = Dm::of(dm).inner;
  Dm::of(dm).inner->users.fetch_add(1);
  return mr;
}

}  // namespace urnic::verbs_api
