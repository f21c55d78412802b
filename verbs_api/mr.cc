#include "verbs_api/mr.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>

#include "transport/dma.h"
#include "transport/result.h"
#include "verbs_api/access_flags.h"
#include "verbs_api/context.h"
#include "verbs_api/failure.h"
#include "verbs_api/pd.h"

namespace urnic::verbs_api {

Mr::~Mr() {
  if (is_registered) {
    end();  // creation was not finished
  }
}

void Mr::end() {
  const auto removed = Context::of(context).nic().deregister_memory(*Pd::of(pd).inner, lkey);
  is_registered = false;
  if (!removed) {
    explain("close_device", removed.error());
  }
}

namespace {

/// What a region may be registered with: rights, and flags that a driver is free to ignore, such as relaxed
/// ordering. EOPNOTSUPP for what only other devices can do, EINVAL for what nobody knows.
Result<transport::Access, int> checked_access(unsigned int flags) {
  constexpr unsigned int kOtherDevices = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;

  const unsigned int wanted = flags & ~static_cast<unsigned int>(IBV_ACCESS_OPTIONAL_RANGE);
  if ((wanted & ~(kAccessRights | IBV_ACCESS_ZERO_BASED | kOtherDevices)) != 0) {
    return EINVAL;
  }
  if ((wanted & kOtherDevices) != 0) {
    return EOPNOTSUPP;
  }
  return to_access(wanted);
}

ibv_mr* register_memory(ibv_pd* pd, void* memory, std::size_t length, std::uint64_t address,
                        unsigned int flags) {
  Context& owner = Context::of(pd->context);
  if (owner.is_dead()) {
    return fail(owner.dead_error());
  }
  const auto access = checked_access(flags);
  if (!access) {
    return fail(access.error());
  }
  const bool is_zero_based = (flags & IBV_ACCESS_ZERO_BASED) != 0;
  return or_out_of_memory([&]() -> ibv_mr* {
    auto created = std::make_unique<Mr>(*pd);
    const auto region = owner.nic().register_memory(*Pd::of(pd).inner, memory, length,
                                                    is_zero_based ? 0 : address, access.value());
    if (!region) {
      return fail(explain("reg_mr", region.error()));
    }
    const std::uint32_t key = region.value().key;
    created->is_registered = true;
    created->addr = memory;
    created->length = length;
    created->handle = key;
    created->lkey = key;
    created->rkey = key;

    const std::lock_guard lock(owner.mutex());
    owner.mrs.insert(created.get());
    return created.release();
  });
}

}  // namespace
}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::explain;
using urnic::verbs_api::fail;
using urnic::verbs_api::Mr;
using urnic::verbs_api::Pd;
using urnic::verbs_api::refuse;
using urnic::verbs_api::register_memory;

extern "C" {

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  return register_memory(pd, addr, length, reinterpret_cast<std::uintptr_t>(addr),
                         static_cast<unsigned int>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  return register_memory(pd, addr, length, iova, static_cast<unsigned int>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, uint64_t iova, unsigned int access) {
  return register_memory(pd, addr, length, iova, access);
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, uint64_t, size_t, uint64_t, int, int) {
  return fail(EOPNOTSUPP);
}

int ibv_rereg_mr(ibv_mr*, int, ibv_pd*, void*, size_t, int) {
  errno = EOPNOTSUPP;
  return IBV_REREG_MR_ERR_INPUT;  // the region is as it was
}

int ibv_dereg_mr(ibv_mr* mr) {
  Context& owner = Context::of(mr->context);
  if (owner.is_dead()) {
    return refuse(owner.dead_error());
  }
  const auto removed = owner.nic().deregister_memory(*Pd::of(mr->pd).inner, mr->lkey);
  if (!removed) {
    return refuse(explain("dereg_mr", removed.error()));
  }
  {
    const std::lock_guard lock(owner.mutex());
    owner.mrs.erase(&Mr::of(mr));
  }
  Mr::of(mr).is_registered = false;
  delete &Mr::of(mr);
  return 0;
}

}  // extern "C"
