// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/memory/mw.h"

#include <atomic>
#include <cerrno>
#include <memory>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/memory/access_flags.h"
#include "verbs_api/memory/mr.h"
#include "verbs_api/memory/pd.h"

namespace urnic::verbs_api {

Mw::Mw(ibv_pd& domain, ibv_mw_type mw_type) : ibv_mw{} {
  context = domain.context;
  pd = &domain;
  type = mw_type;
}

Mw::~Mw() {
  if (key != 0) {
    end();  // creation was not finished
  }
}

void Mw::end() {
  const auto removed = Context::of(context).nic().deallocate_window(*Pd::of(pd).inner, key);
  key = 0;
  if (!removed) explain("close_device", removed.error());
}

Result<transport::WindowBinding, int> to_binding(const ibv_mw& mw, std::uint32_t new_rkey,
                                                 const ibv_mw_bind_info& info) {
  // Programs name the region's right to be written, too. It is of no use to a window, which only peers use.
  constexpr unsigned int kIgnored = IBV_ACCESS_LOCAL_WRITE;
  constexpr unsigned int kRights =
      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | kAccessFlushGlobal;

  if ((info.mw_access_flags & ~(kRights | IBV_ACCESS_ZERO_BASED | kIgnored)) != 0) return EINVAL;
  if (info.length > 0 && (info.mr == nullptr || info.mr->context != mw.context)) return EINVAL;
  // rdma_rxe, mlx5 and irdma refuse it.
  if (info.length > 0 && Mr::of(info.mr).registration->is_zero_based) return EINVAL;
  return transport::WindowBinding{.window = transport::Rkey{static_cast<const Mw&>(mw).key},
                                  .new_rkey = transport::Rkey{new_rkey},
                                  .region = transport::Lkey{info.length > 0 ? info.mr->lkey : 0},
                                  .address = info.addr,
                                  .length = info.length,
                                  .access = to_access(info.mw_access_flags & kRights),
                                  .is_zero_based = (info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0};
}

Result<transport::WindowBinding, int> to_type_2_binding(const ibv_mw* mw, std::uint32_t new_rkey,
                                                        const ibv_mw_bind_info& info) {
  if (mw == nullptr || number_in(mw->type) != IBV_MW_TYPE_2) return EINVAL;
  constexpr std::uint32_t kChosenByProgram = 0xff;
  const std::uint32_t slot = static_cast<const Mw*>(mw)->key & ~kChosenByProgram;
  return to_binding(*mw, slot | (new_rkey & kChosenByProgram), info);
}

void show_key(ibv_mw& mw, transport::Rkey rkey) {
  std::atomic_ref(mw.rkey).store(to_integer(rkey), std::memory_order_relaxed);
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) noexcept {
  if (const int fault = objects().check(pd); fault != 0) return fail(fault);
  Context& owner = Context::of(pd->context);
  const auto number = number_in(type);
  if (number != IBV_MW_TYPE_1 && number != IBV_MW_TYPE_2) return fail(EINVAL);
  return or_out_of_memory([&]() -> ibv_mw* {
    nic::ProtectionDomain& domain = *Pd::of(pd).inner;
    const auto kind = number == IBV_MW_TYPE_1 ? nic::WindowType::kType1 : nic::WindowType::kType2;
    auto created = std::make_unique<Mw>(*pd, type);
    const auto key = owner.nic().allocate_window(domain, kind);
    if (!key) return fail(explain("alloc_mw", key.error()));
    created->key = key.value();
    created->rkey = key.value();
    created->handle = key.value();
    objects().add(created.get());
    return created.release();
  });
}

int dealloc_mw(ibv_mw* mw) noexcept {
  ObjectClaim claim(mw);
  if (claim.error() != 0) return refuse(claim.error());
  Mw& own_mw = Mw::of(mw);
  Context& owner = Context::of(mw->context);
  const auto removed = owner.nic().deallocate_window(*Pd::of(mw->pd).inner, own_mw.key);
  if (!removed) return refuse(explain("dealloc_mw", removed.error()));
  own_mw.key = 0;
  claim.take_out();
  delete &own_mw;
  return 0;
}

}  // namespace urnic::verbs_api
