#include "verbs_api/queues/qp_handles.h"

#include <algorithm>

#include "verbs_api/device/context.h"
#include "verbs_api/queues/qp.h"

namespace urnic::verbs_api {

void QpHandles::add(Qp& handle) {
  const std::lock_guard lock(mutex_);
  handles_.push_back(&handle);
}

bool QpHandles::remove(const Qp& handle) {
  const std::lock_guard lock(mutex_);
  handles_.erase(std::remove(handles_.begin(), handles_.end(), &handle), handles_.end());
  return handles_.empty();
}

void QpHandles::push(ibv_event_type event) noexcept {
  const std::lock_guard lock(mutex_);
  for (Qp* const handle : handles_) {
    ibv_qp& concerned = handle->qp_base;
    Context::of(concerned.context).async_events().push({.element = {.qp = &concerned}, .event_type = event});
  }
}

}  // namespace urnic::verbs_api
