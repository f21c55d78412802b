// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Registering a memory region again: elsewhere, in another protection domain, or with other rights.
#include <cerrno>
#include <cstdint>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/memory/mr.h"
#include "verbs_api/memory/pd.h"

namespace urnic::verbs_api {
namespace {

constexpr unsigned int kTranslation = IBV_REREG_MR_CHANGE_TRANSLATION;
constexpr unsigned int kDomain = IBV_REREG_MR_CHANGE_PD;
constexpr unsigned int kRights = IBV_REREG_MR_CHANGE_ACCESS;

struct Wish {
  unsigned int changes;
  ibv_pd* pd;
  void* memory;
  std::size_t length;
  unsigned int flags;
};

/// Why libibverbs itself refuses such a wish, as errno; 0 when it asks the kernel.
int check_input(const Mr& mr, const Wish& wish) {
  if ((wish.changes & ~static_cast<unsigned int>(IBV_REREG_MR_FLAGS_SUPPORTED)) != 0) return EINVAL;
  if ((wish.changes & kTranslation) != 0 && (wish.memory == nullptr || wish.length == 0)) return EINVAL;
  if ((wish.changes & kDomain) != 0 && wish.pd == nullptr) return EINVAL;
  if ((wish.changes & kRights) == 0 && wish.flags != 0) return EINVAL;
  const Registration& registration = *mr.registration;
  const bool is_the_programs = registration.device_memory == nullptr &&
                               registration.region.backing != nic::Backing::kNothing &&
                               registration.mapping.memory() == nullptr;
  return is_the_programs ? 0 : EOPNOTSUPP;
}

/// The region as it is to be; EINVAL or EOPNOTSUPP for its flags.
Result<nic::MemoryRegion, int> changed(const Mr& mr, const Wish& wish, bool& is_zero_based) {
  nic::MemoryRegion region = mr.registration->region;
  if ((wish.changes & kRights) != 0) {
    const auto parsed = parse_registration_flags(wish.flags);
    if (!parsed) return parsed.error();
    region.access = parsed.value().access;
    region.backing = parsed.value().backing;
    if (is_zero_based != parsed.value().is_zero_based && (wish.changes & kTranslation) == 0) return EINVAL;
    is_zero_based = parsed.value().is_zero_based;
  }
  if ((wish.changes & kTranslation) != 0) {
    region.memory = static_cast<std::byte*>(wish.memory);
    region.length = wish.length;
    region.address = is_zero_based ? 0 : reinterpret_cast<std::uintptr_t>(wish.memory);
  }
  return region;
}

int refuse_with(ibv_rereg_mr_err_code result, int code) {
  errno = code;
  return result;
}

/// What libibverbs refuses without asking the kernel.
int refuse_input(int code) {
  return refuse_with(IBV_REREG_MR_ERR_INPUT, code);
}

/// What the kernel refuses.
int refuse_command(int code) {
  return refuse_with(IBV_REREG_MR_ERR_CMD, code);
}

}  // namespace
}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::explain;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::Mr;
using urnic::verbs_api::Pd;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" {

// The keys stay. Whatever fails leaves the region as it was, also with IBV_REREG_MR_ERR_CMD, after which a
// program should not use it.
int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length, int access) {
  if (const int error = injected_error(Verb::kReregMr); error != 0) return refuse(error);
  using namespace urnic::verbs_api;
  if (mr == nullptr) return refuse_input(EINVAL);
  if (const int fault = objects().check(mr); fault != 0) return refuse_command(fault);
  Context& owner = Context::of(mr->context);
  Mr& ours = Mr::of(mr);
  const Wish wish{.changes = static_cast<unsigned int>(flags),
                  .pd = pd,
                  .memory = addr,
                  .length = length,
                  .flags = static_cast<unsigned int>(access)};
  if (const int code = check_input(ours, wish); code != 0) return refuse_input(code);
  if (wish.changes == 0) return refuse_command(EINVAL);
  if ((wish.changes & kDomain) != 0) {
    if (const int fault = objects().check_of(*mr->context, pd); fault != 0) return refuse_command(fault);
  }
  Registration& registration = *ours.registration;
  bool is_zero_based = registration.is_zero_based;
  const auto region = changed(ours, wish, is_zero_based);
  if (!region) return refuse_command(region.error());
  ibv_pd* const domain = (wish.changes & kDomain) != 0 ? pd : mr->pd;
  const auto registered =
      owner.nic().reregister_memory(*registration.pd, *Pd::of(domain).inner, region.value());
  if (!registered) return refuse_command(explain("rereg_mr", registered.error()));
  registration.region = region.value();
  registration.pd = Pd::of(domain).inner;
  registration.is_zero_based = is_zero_based;
  ours.pd = domain;
  ours.addr = region.value().memory;
  ours.length = region.value().length;
  show_to_sanitizer(ours);
  return 0;
}

}  // extern "C"
