// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/event_dispatcher.h"

#include "nic/queues/queue_pair.h"

namespace urnic::nic {

void EventDispatcher::on_qp_event(transport::QpNumber number, transport::QpEvent event) {
  QueuePair* const qp = queue_pairs_.find(number);
  if (qp == nullptr) return;
  if (qp->attributes().type == QpType::kWorkQueue) {
    if (event == transport::QpEvent::kFatal && handlers_.on_wq_fatal) handlers_.on_wq_fatal(qp->context());
  } else if (handlers_.on_qp) {
    handlers_.on_qp(qp->context(), event);
  }
}

void EventDispatcher::on_srq_limit(const SharedReceiveQueue& srq) {
  if (handlers_.on_srq_limit) handlers_.on_srq_limit(srq.context());
}

void EventDispatcher::on_cq_overrun(const CompletionQueue& queue) {
  if (handlers_.on_cq_overrun) handlers_.on_cq_overrun(queue.context());
}

}  // namespace urnic::nic
