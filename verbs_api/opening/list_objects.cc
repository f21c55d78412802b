// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/list_objects.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/memory/pd.h"
#include "verbs_api/opening/registered.h"
#include "verbs_api/queues/cq.h"
#include "verbs_api/queues/srq.h"

namespace urnic::verbs_api {
namespace {

using nic::ProgramObjects;

/// A parent domain counts as the domain that it was made with: they have one number.
void add(const Pd& pd, std::uint32_t context, ProgramObjects& to) {
  if (pd.parent != nullptr) return;
  to.protection_domains.push_back(
      {.number = to_integer(pd.inner->id), .context = context, .users = pd.inner->users.load()});
}

void add(Cq& cq, std::uint32_t context, ProgramObjects& to) {
  const std::lock_guard unchanged(cq.resizing);
  to.completion_queues.push_back({.number = cq.handle,
                                  .context = context,
                                  .capacity = cq.inner->capacity(),
                                  .users = cq.inner->users.load()});
}

void add(const Srq& srq, ProgramObjects& to) {
  const nic::SrqCreateAttributes& made = srq.inner->attributes();
  ProgramObjects::SharedReceiveQueue listed{.number = srq.inner->number(), .domain = to_integer(made.pd->id)};
  if (made.completions != nullptr) {
    listed.completion_queue = static_cast<const Cq*>(made.completions->context())->handle;
  }
  to.shared_receive_queues.push_back(listed);
}

template <typename Object>
void sort_by_number(std::vector<Object>& objects) {
  std::sort(objects.begin(), objects.end(),
            [](const Object& a, const Object& b) { return a.number < b.number; });
}

}  // namespace

void list_objects(const ibv_device& device, ProgramObjects& to) {
  to.contexts = objects().open_contexts(device);
  objects().for_each(device, [&to](ObjectKind kind, const void* object, std::uint32_t context) {
    switch (kind) {
      case ObjectKind::kPd:
        return add(Pd::of(as<ibv_pd>(object)), context, to);
      case ObjectKind::kCq:
        return add(Cq::of(as<ibv_cq>(object)), context, to);
      case ObjectKind::kSrq:
        return add(Srq::of(as<ibv_srq>(object)), to);
      default:
        return;
    }
  });
  sort_by_number(to.protection_domains);
  sort_by_number(to.completion_queues);
  sort_by_number(to.shared_receive_queues);
}

}  // namespace urnic::verbs_api
