// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/memory/parent_domain.h"

#include <cerrno>
#include <memory>
#include <mutex>
#include <new>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/device/busy.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/memory/pd.h"

namespace urnic::verbs_api {
namespace {

/// What a program is told about a piece of memory. The upper half would name a driver of rdma-core, of which
/// this is none (RDMA_DRIVER_UNKNOWN, 0).
constexpr std::uint64_t resource_type(transport::QueueKind kind) {
  return static_cast<std::uint64_t>(kind);
}

}  // namespace

ProgramMemory::ProgramMemory(ibv_pd& domain, const ibv_parent_domain_init_attr& given)
    : domain_(domain),
      allocate_(given.alloc),
      free_(given.free),
      program_context_((given.comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) != 0 ? given.pd_context
                                                                                       : nullptr) {}

void* ProgramMemory::allocate(std::size_t bytes, std::size_t alignment, transport::QueueKind kind) {
  void* const memory = allocate_(&domain_, program_context_, bytes, alignment, resource_type(kind));
  if (memory == IBV_ALLOCATOR_USE_DEFAULT) return nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) {
    free(memory, kind);
    throw std::bad_alloc();
  }
  return memory;
}

void ProgramMemory::free(void* memory, transport::QueueKind kind) noexcept {
  free_(&domain_, program_context_, memory, resource_type(kind));
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init_attr) noexcept {
  Context& owner = Context::of(context);
  if (owner.is_dead()) return fail(owner.dead_error());
  if (init_attr == nullptr) return fail(EINVAL);
  if (init_attr->comp_mask != 0) return fail(EOPNOTSUPP);
  return or_out_of_memory([&]() -> ibv_td* {
    auto created = std::make_unique<Td>(*context);
    objects().add(created.get());
    return created.release();
  });
}

int dealloc_td(ibv_td* td) noexcept {
  ObjectClaim claim(td);
  if (claim.error() != 0) return refuse(claim.error());
  Context& owner = Context::of(td->context);
  {
    const std::lock_guard lock(owner.mutex());
    if (Td::of(td).users != 0) return refuse_busy("dealloc_td", *td);
    claim.take_out();
  }
  delete &Td::of(td);
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init_attr) noexcept {
  constexpr std::uint32_t kKnown =
      IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

  Context& owner = Context::of(context);
  if (init_attr == nullptr) return fail(EINVAL);
  if (const int fault = objects().check_of(*context, init_attr->pd); fault != 0) return fail(fault);
  if (const int fault = init_attr->td != nullptr ? objects().check_of(*context, init_attr->td) : 0;
      fault != 0) {
    return fail(fault);
  }
  if ((init_attr->comp_mask & ~kKnown) != 0) return fail(EOPNOTSUPP);
  const bool has_allocators = (init_attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0;
  if (has_allocators && (init_attr->alloc == nullptr || init_attr->free == nullptr)) return fail(EINVAL);
  return or_out_of_memory([&]() -> ibv_pd* {
    const auto& parent = Pd::of(init_attr->pd).inner;
    auto inner = std::make_shared<nic::ProtectionDomain>();
    inner->id = parent->id;
    auto created = std::make_unique<Pd>(*context, std::move(inner));
    created->parent = parent;
    created->td = init_attr->td != nullptr ? &Td::of(init_attr->td) : nullptr;
    if (has_allocators) {
      created->memory = std::make_unique<ProgramMemory>(*created, *init_attr);
      created->inner->memory = created->memory.get();
    }
    const std::lock_guard lock(owner.mutex());
    objects().add(created.get());
    ++parent->users;
    if (created->td != nullptr) ++created->td->users;
    return created.release();
  });
}

}  // namespace urnic::verbs_api
