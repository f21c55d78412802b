// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EventDispatcher: finds out which handler an asynchronous event is for.
#pragma once

#include <utility>

#include "nic/event_handlers.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/queue_pair_table.h"
#include "nic/queues/shared_receive_queue.h"
#include "transport/endpoint.h"

namespace urnic::nic {

/// All calls under the engine lock, except where noted.
class EventDispatcher final : public transport::QpEventSink {
 public:
  explicit EventDispatcher(const QueuePairTable& queue_pairs) : queue_pairs_(queue_pairs) {}

  /// Before the device starts.
  void set_handlers(EventHandlers handlers) { handlers_ = std::move(handlers); }

  /// An endpoint knows its number only; the program knows the queue pair, or the work queue.
  void on_qp_event(transport::QpNumber number, transport::QpEvent event) override;
  void on_loss() override { has_seen_loss_ = true; }
  void on_srq_limit(const SharedReceiveQueue& srq);
  void on_cq_overrun(const CompletionQueue& queue);
  /// Without the lock, any thread. False: it cannot be told now.
  bool on_link_lost() { return !handlers_.on_link_lost || handlers_.on_link_lost(); }

  /// Whether any queue pair ever found that frames get lost on the way.
  bool has_seen_loss() const { return has_seen_loss_; }

 private:
  const QueuePairTable& queue_pairs_;
  EventHandlers handlers_;
  bool has_seen_loss_ = false;
};

}  // namespace urnic::nic
