// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpHandles: the handles by which a program knows one queue pair of the device.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "nic/queues/queue_pair.h"
#include "transport/qp_state.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// What it is to the program, and the count of the events that the program fetched of it.
struct QpHandle {
  ibv_qp* qp;
  std::uint32_t* events_fetched;  ///< under the lock of AsyncEvents
};

/// One handle, or several for an XRC target that was opened again (ibv_open_qp). They share this, and with
/// the last of them the queue pair ends, as in the kernel. Any thread.
class QpHandles {
 public:
  void add(const QpHandle& handle);
  /// True when it was the last one. Nothing is pushed for it any more.
  bool remove(const ibv_qp& qp);

  /// Tells every handle of it, through the events of its context. May be called under the engine lock.
  void push(ibv_event_type event) noexcept;

  std::unique_ptr<nic::QueuePair> inner;

 private:
  std::mutex mutex_;
  std::vector<QpHandle> handles_;
};

}  // namespace urnic::verbs_api
