// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/event_delivery.h"

#include "verbs_api/device/context.h"
#include "verbs_api/device/qp_handles.h"
#include "verbs_api/queues/cq.h"
#include "verbs_api/queues/srq.h"
#include "verbs_api/queues/wq.h"

namespace urnic::verbs_api {
namespace {

using transport::QpEvent;

ibv_event_type type_of(QpEvent event) {
  switch (event) {
    case QpEvent::kFatal:
      return IBV_EVENT_QP_FATAL;
    case QpEvent::kRequestError:
      return IBV_EVENT_QP_REQ_ERR;
    case QpEvent::kAccessError:
      return IBV_EVENT_QP_ACCESS_ERR;
    case QpEvent::kCommunicationEstablished:
      return IBV_EVENT_COMM_EST;
    case QpEvent::kSqDrained:
      return IBV_EVENT_SQ_DRAINED;
    case QpEvent::kLastWqeReached:
      return IBV_EVENT_QP_LAST_WQE_REACHED;
  }
  return IBV_EVENT_QP_FATAL;
}

AsyncEvents& events_of(ibv_context* context) {
  return Context::of(context).async_events();
}

}  // namespace

void deliver_qp_event(void* qp, QpEvent event) noexcept {
  static_cast<QpHandles*>(qp)->push(type_of(event));
}

void deliver_wq_fatal(void* wq) noexcept {
  Wq& concerned = *static_cast<Wq*>(wq);
  const ibv_async_event event{.element = {.wq = &concerned}, .event_type = IBV_EVENT_WQ_FATAL};
  events_of(concerned.context).push(event, concerned.events_fetched);
}

void deliver_srq_limit(void* srq) noexcept {
  Srq& concerned = *static_cast<Srq*>(srq);
  const ibv_async_event event{.element = {.srq = &concerned}, .event_type = IBV_EVENT_SRQ_LIMIT_REACHED};
  events_of(concerned.context).push(event, concerned.events_fetched);
}

void deliver_cq_overrun(void* cq) noexcept {
  Cq& concerned = *static_cast<Cq*>(cq);
  const ibv_async_event event{.element = {.cq = concerned.abi()}, .event_type = IBV_EVENT_CQ_ERR};
  events_of(concerned.context).push(event, concerned.async_events_fetched);
}

}  // namespace urnic::verbs_api
