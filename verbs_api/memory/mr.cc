// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/memory/mr.h"

#include <cerrno>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/memory/access_flags.h"
#include "verbs_api/memory/pd.h"

namespace urnic::verbs_api {

using nic::Backing;
using nic::MemoryRegion;

Mr::Mr(ibv_pd& domain) : ibv_mr{}, registration(std::make_shared<Registration>()) {
  context = domain.context;
  pd = &domain;
  registration->pd = Pd::of(&domain).inner;
}

Mr::Mr(ibv_pd& domain, std::shared_ptr<Registration> imported)
    : ibv_mr{}, registration(std::move(imported)), is_imported(true) {
  context = domain.context;
  pd = &domain;
  addr = nullptr;  // as the manual has it
  length = registration->region.length;
  handle = registration->region.key;
  lkey = registration->region.key;
  rkey = Context::of(context).nic().rkey_of(registration->region.key);
}

Mr::~Mr() {
  end();  // creation was not finished
}

void Mr::end() {
  if (is_imported || !registration->is_registered.exchange(false)) return;
  const auto removed =
      Context::of(context).nic().deregister_memory(*registration->pd, registration->region.key);
  if (!removed) explain("close_device", removed.error());
}

Result<RegistrationFlags, int> parse_registration_flags(unsigned int flags) {
  // Memory here is not persistent, and the kernel refuses with EINVAL what a device does not have.
  constexpr unsigned int kKnown =
      kAccessRights | kAccessFlushGlobal | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;
  const unsigned int required = flags & ~static_cast<unsigned int>(IBV_ACCESS_OPTIONAL_RANGE);
  if ((required & ~kKnown) != 0) return EINVAL;
  const bool is_on_demand = (required & IBV_ACCESS_ON_DEMAND) != 0;
  if ((required & IBV_ACCESS_HUGETLB) != 0 && !is_on_demand) return EOPNOTSUPP;
  return RegistrationFlags{.access = to_access(required),
                           .backing = is_on_demand ? Backing::kOnDemand : Backing::kMapped,
                           .is_zero_based = (required & IBV_ACCESS_ZERO_BASED) != 0};
}

void show_to_sanitizer(const Mr& mr) {
  DeviceLedger* const ledgers = Context::of(mr.context).ledgers();
  if (ledgers == nullptr) return;
  const MemoryRegion& region = mr.registration->region;
  const bool can_look = region.backing == Backing::kMapped && mr.registration->device_memory == nullptr;
  const bool has_all = region.length == std::numeric_limits<std::uint64_t>::max();
  ledgers->add_memory(transport::Lkey{region.key},
                      {.address = region.address,
                       .length = region.length,
                       .domain = mr.registration->pd.get(),
                       .is_writable = allows(region.access, transport::Access::kLocalWrite),
                       .memory = can_look ? region.memory : nullptr,
                       .has_bounds = !has_all});
}

Mr* register_region(ibv_pd& pd, const char* verb, const MemoryRegion& region) {
  if (const int fault = objects().check(&pd); fault != 0) return fail(fault);
  Context& owner = Context::of(pd.context);
  const nic::Personality& like = *owner.nic().config().personality;
  const bool is_on_demand = region.backing == Backing::kOnDemand;
  if (is_on_demand && like.on_demand_paging == nic::Offer::kNo) return fail(EOPNOTSUPP);
  return or_out_of_memory([&]() -> Mr* {
    auto created = std::make_unique<Mr>(pd);
    const auto registered = owner.nic().register_memory(*Pd::of(&pd).inner, region.memory, region.length,
                                                        region.address, region.access, region.backing);
    if (!registered) return fail(explain(verb, registered.error()));
    created->registration->region = registered.value();
    created->registration->is_registered = true;
    created->addr = region.memory;
    created->length = region.length;
    created->handle = registered.value().key;
    created->lkey = registered.value().key;
    created->rkey = owner.nic().rkey_of(registered.value().key);
    show_to_sanitizer(*created);

    owner.file()->mrs.add(created->handle, created->registration);
    objects().add(created.get());
    return created.release();
  });
}

namespace {

ibv_mr* register_memory(ibv_pd* pd, void* memory, std::size_t length, std::uint64_t address,
                        unsigned int flags) {
  const auto parsed = parse_registration_flags(flags);
  if (!parsed) return fail(parsed.error());
  // All of the process's memory is known by its own addresses, and by pages only.
  const bool is_implicit = memory == nullptr && length == std::numeric_limits<std::size_t>::max();
  if (is_implicit && (parsed.value().backing != Backing::kOnDemand || address != 0)) return fail(EINVAL);
  Mr* const mr = register_region(*pd, "reg_mr",
                                 {.access = parsed.value().access,
                                  .address = parsed.value().is_zero_based ? 0 : address,
                                  .length = length,
                                  .memory = static_cast<std::byte*>(memory),
                                  .backing = parsed.value().backing});
  if (mr != nullptr) mr->registration->is_zero_based = parsed.value().is_zero_based;
  return mr;
}

/// Memory of another device's driver, as far as it lets the processor see it.
ibv_mr* register_dma_buf(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t address, int fd,
                         unsigned int flags) {
  const auto parsed = parse_registration_flags(flags);
  if (!parsed) return fail(parsed.error());
  const bool is_plain = parsed.value().backing == Backing::kMapped && !parsed.value().is_zero_based;
  if (!is_plain) return fail(EOPNOTSUPP);
  auto mapping =
      Mapping::make(fd, offset, length, allows(parsed.value().access, transport::Access::kLocalWrite));
  if (!mapping) return fail(mapping.error());
  Mr* const mr = register_region(*pd, "reg_dmabuf_mr",
                                 {.access = parsed.value().access,
                                  .address = address,
                                  .length = length,
                                  .memory = mapping.value().memory()});
  if (mr == nullptr) return nullptr;
  mr->addr = nullptr;  // the mapping is ours alone
  mr->registration->mapping = std::move(mapping.value());
  return mr;
}

}  // namespace

ibv_mr* alloc_null_mr(ibv_pd* pd) noexcept {
  return register_region(*pd, "alloc_null_mr",
                         {.access = transport::Access::kLocalWrite,
                          .length = std::numeric_limits<std::uint64_t>::max(),
                          .backing = Backing::kNothing});
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::explain;
using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::Mr;
using urnic::verbs_api::ObjectClaim;
using urnic::verbs_api::refuse;
using urnic::verbs_api::register_dma_buf;
using urnic::verbs_api::register_memory;
using urnic::verbs_api::Registration;
using urnic::verbs_api::Verb;

extern "C" {

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  if (const int error = injected_error(Verb::kRegMr); error != 0) return fail(error);
  return register_memory(pd, addr, length, reinterpret_cast<std::uintptr_t>(addr),
                         static_cast<unsigned int>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  if (const int error = injected_error(Verb::kRegMr); error != 0) return fail(error);
  return register_memory(pd, addr, length, iova, static_cast<unsigned int>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, uint64_t iova, unsigned int access) {
  if (const int error = injected_error(Verb::kRegMr); error != 0) return fail(error);
  return register_memory(pd, addr, length, iova, access);
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access) {
  if (const int error = injected_error(Verb::kRegDmabufMr); error != 0) return fail(error);
  return register_dma_buf(pd, offset, length, iova, fd, static_cast<unsigned int>(access));
}

int ibv_dereg_mr(ibv_mr* mr) {
  if (const int error = injected_error(Verb::kDeregMr); error != 0) return refuse(error);
  ObjectClaim claim(mr);
  if (claim.error() != 0) return refuse(claim.error());
  Context& owner = Context::of(mr->context);
  Registration& registration = *Mr::of(mr).registration;
  if (!registration.is_registered.exchange(false)) {
    return refuse(EINVAL);  // another handle has done it; the key may be another region's now
  }
  const auto removed = owner.nic().deregister_memory(*registration.pd, mr->lkey);
  if (!removed) {
    registration.is_registered = true;
    return refuse(explain("dereg_mr", removed.error()));
  }
  if (auto* const ledgers = owner.ledgers()) ledgers->remove_memory(urnic::transport::Lkey{mr->lkey});
  owner.file()->mrs.remove(mr->handle, registration);
  if (registration.device_memory != nullptr) registration.device_memory->users.fetch_sub(1);
  claim.take_out();
  delete &Mr::of(mr);
  return 0;
}

}  // extern "C"
