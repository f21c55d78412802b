// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpMonitor: looks on what a queue pair does, for the explanation of failures.
#pragma once

#include <cstddef>
#include <span>

#include "transport/completion.h"
#include "transport/observer.h"
#include "transport/time.h"
#include "transport/wire/packet.h"

namespace urnic::nic {

/// Stands between an endpoint and its completion queues. All calls under the engine lock.
class QpMonitor : public transport::QpObserver {
 public:
  /// What the endpoint is given in place of its completion queues.
  virtual transport::CompletionSink& sends() = 0;
  virtual transport::CompletionSink& receives() = 0;

  /// The program has changed the queue pair: its next failure is another one.
  virtual void on_modified() = 0;
  /// `packet` is what the endpoint wrote, from the BTH on.
  virtual void on_sent(std::span<const std::byte> packet, bool is_reachable, transport::Time now) = 0;
  virtual void on_received(const transport::wire::Packet& packet, transport::Time now) = 0;
};

}  // namespace urnic::nic
