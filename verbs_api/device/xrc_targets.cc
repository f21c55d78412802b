// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/xrc_targets.h"

namespace urnic::verbs_api {

void XrcTargets::add(const std::shared_ptr<QpHandles>& handles) {
  const std::lock_guard lock(mutex_);
  targets_.emplace(handles->inner->number(), handles);
}

std::shared_ptr<QpHandles> XrcTargets::open(const nic::XrcDomain& domain, transport::QpNumber number,
                                            const QpHandle& handle) {
  const std::lock_guard lock(mutex_);
  const auto found = targets_.find(number);
  if (found == targets_.end() || found->second->inner->attributes().xrc_domain != &domain) return nullptr;
  found->second->add(handle);
  return found->second;
}

bool XrcTargets::close(QpHandles& handles, const ibv_qp& qp) {
  const std::lock_guard lock(mutex_);
  if (!handles.remove(qp)) return false;
  if (handles.inner != nullptr) targets_.erase(handles.inner->number());
  return true;
}

}  // namespace urnic::verbs_api
