// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QueueEngine: the engine as queue pairs and completion queues see it.
#pragma once

#include <memory>

#include "nic/queues/needs/device_facts.h"
#include "nic/queues/needs/doorbells.h"
#include "nic/queues/needs/round_agenda.h"
#include "nic/queues/needs/ways.h"

namespace urnic::nic {

class QpMonitor;
class QueuePair;

/// The queues know these faces of the engine and nothing else of it; the engine knows the queues themselves.
///
/// lock() and unlock() make it a lock in the standard's sense (std::lock_guard): control verbs hold it while
/// they change what the engine uses. A thread that holds it waits for nothing: not for a frame, nor for room
/// in the port.
class QueueEngine : public DeviceFacts, public Doorbells, public RoundAgenda, public Ways {
 public:
  using DeviceFacts::DeviceFacts;
  virtual ~QueueEngine() = default;

  /// Waits. unlock() first does what other threads rang for in the meantime.
  virtual void lock() = 0;
  virtual void unlock() = 0;

  /// What keeps facts that explain failures of `qp`, which is being made; null unless the device is to
  /// explain them.
  virtual std::unique_ptr<QpMonitor> make_monitor(QueuePair& qp) = 0;
};

}  // namespace urnic::nic
