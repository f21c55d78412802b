// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// XrcTargets: the XRC targets of a process by number, to open them again.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "nic/queues/queue_pair.h"
#include "nic/queues/xrc_domain.h"
#include "transport/types.h"
#include "verbs_api/device/qp_handles.h"

namespace urnic::verbs_api {

/// Any thread.
class XrcTargets {
 public:
  /// `handles` has its queue pair, and that one handle by which it was made.
  void add(const std::shared_ptr<QpHandles>& handles);

  /// Adds `handle` to the handles of the target with that number in the domain; null when there is no such
  /// target.
  std::shared_ptr<QpHandles> open(const nic::XrcDomain& domain, transport::QpNumber number,
                                  const QpHandle& handle);

  /// Removes one of them. True when it was the last: then no handle opens the target any more.
  bool close(QpHandles& handles, const ibv_qp& qp);

 private:
  std::mutex mutex_;
  std::unordered_map<transport::QpNumber, std::shared_ptr<QpHandles>> targets_;
};

}  // namespace urnic::verbs_api
