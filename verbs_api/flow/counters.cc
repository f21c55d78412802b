// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/flow/counters.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <span>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"

namespace urnic::verbs_api {
namespace {

std::uint64_t value_of(const nic::FlowCounts& counts, ibv_counter_description what) {
  return what == IBV_COUNTER_PACKETS ? counts.packets.load(std::memory_order_relaxed)
                                     : counts.bytes.load(std::memory_order_relaxed);
}

}  // namespace

ibv_counters* create_counters(ibv_context* context, ibv_counters_init_attr* init_attr) noexcept {
  Context& owner = Context::of(context);
  if (owner.is_dead()) return fail(owner.dead_error());
  if (init_attr == nullptr || init_attr->comp_mask != 0) return fail(EINVAL);
  return or_out_of_memory([&]() -> ibv_counters* {
    auto created = std::make_unique<Counters>(*context);
    objects().add(created.get());
    return created.release();
  });
}

// What counts there is said when a rule is made (IBV_FLOW_SPEC_ACTION_COUNT); a rule that is there cannot be
// told any more.
int attach_counters(ibv_counters* counters, ibv_counter_attach_attr* attr, ibv_flow* flow) noexcept {
  if (const int fault = objects().check(counters); fault != 0) return refuse(fault);
  Context& owner = Context::of(counters->context);
  if (attr == nullptr || attr->comp_mask != 0) return refuse(EINVAL);
  const auto what = number_in(attr->counter_desc);
  if (what != IBV_COUNTER_PACKETS && what != IBV_COUNTER_BYTES) return refuse(EINVAL);
  if (flow != nullptr) return refuse(EOPNOTSUPP);
  const std::lock_guard lock(owner.mutex());
  try {
    Counters::of(counters).places[attr->index] = static_cast<ibv_counter_description>(what);
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM);
  }
  return 0;
}

// What is counted is never old, so there is nothing that could be preferred to be cached.
int read_counters(ibv_counters* counters, std::uint64_t* values, std::uint32_t count,
                  std::uint32_t flags) noexcept {
  if (const int fault = objects().check(counters); fault != 0) return refuse(fault);
  Context& owner = Context::of(counters->context);
  if ((flags & ~std::uint32_t{IBV_READ_COUNTERS_ATTR_PREFER_CACHED}) != 0 ||
      (values == nullptr && count > 0)) {
    return refuse(EINVAL);
  }
  const std::lock_guard lock(owner.mutex());
  std::fill_n(values, count, 0);
  for (const auto& [index, what] : Counters::of(counters).places) {
    if (index < count) values[index] = value_of(*Counters::of(counters).counts, what);
  }
  return 0;
}

int destroy_counters(ibv_counters* counters) noexcept {
  ObjectClaim claim(counters);
  if (claim.error() != 0) return refuse(claim.error());
  Counters& own_counters = Counters::of(counters);
  Context& owner = Context::of(counters->context);
  {
    const std::lock_guard lock(owner.mutex());
    if (own_counters.counts.use_count() > 1) {
      return refuse(EBUSY);  // a rule counts there
    }
    claim.take_out();
  }
  delete &own_counters;
  return 0;
}

}  // namespace urnic::verbs_api
