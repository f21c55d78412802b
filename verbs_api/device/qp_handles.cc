// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/qp_handles.h"

#include "verbs_api/device/context.h"

namespace urnic::verbs_api {

void QpHandles::add(const QpHandle& handle) {
  const std::lock_guard lock(mutex_);
  handles_.push_back(handle);
}

bool QpHandles::remove(const ibv_qp& qp) {
  const std::lock_guard lock(mutex_);
  std::erase_if(handles_, [&](const QpHandle& handle) { return handle.qp == &qp; });
  return handles_.empty();
}

void QpHandles::push(ibv_event_type event) noexcept {
  const std::lock_guard lock(mutex_);
  for (const QpHandle& handle : handles_) {
    AsyncEvents& events = Context::of(handle.qp->context).async_events();
    events.push({.element = {.qp = handle.qp}, .event_type = event}, *handle.events_fetched);
  }
}

}  // namespace urnic::verbs_api
