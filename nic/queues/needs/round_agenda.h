// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RoundAgenda: what queues leave to the engine's round, at its end or at a time.
#pragma once

#include "transport/time.h"

namespace urnic::nic {

class CompletionQueue;
class QueuePair;
class SharedReceiveQueue;

/// Under the engine's lock.
class RoundAgenda {
 public:
  /// Takes `qp` out of turn: it forgets its state.
  virtual void unschedule(QueuePair& qp) = 0;
  /// `queue` has something to publish at the end of this round.
  virtual void add_to_publish(CompletionQueue& queue) = 0;
  /// `queue` has put off a notification: on_deadline() says until when.
  virtual void add_put_off(CompletionQueue& queue) = 0;
  /// Something is due then of which no round knows yet.
  virtual void on_deadline(transport::Time due) = 0;
  /// A completion did not fit into `queue` and is lost: at the end of this round its queue pairs go to ERR.
  virtual void on_cq_overrun(CompletionQueue& queue) = 0;
  virtual void on_srq_limit(SharedReceiveQueue& srq) = 0;

 protected:
  ~RoundAgenda() = default;
};

}  // namespace urnic::nic
