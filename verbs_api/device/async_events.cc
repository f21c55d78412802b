#include "verbs_api/device/async_events.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <new>

#include "verbs_api/device/context.h"
#include "verbs_api/queues/address.h"
#include "verbs_api/queues/cq.h"
#include "verbs_api/queues/qp.h"
#include "verbs_api/queues/srq.h"
#include "verbs_api/queues/wq.h"

namespace urnic::verbs_api {
namespace {

using transport::QpEvent;

bool is_of_cq(const ibv_async_event& event) {
  return event.event_type == IBV_EVENT_CQ_ERR;
}
bool is_of_srq(const ibv_async_event& event) {
  return event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED;
}
bool is_of_wq(const ibv_async_event& event) {
  return event.event_type == IBV_EVENT_WQ_FATAL;
}

bool is_of_port(const ibv_async_event& event) {
  return event.event_type == IBV_EVENT_GID_CHANGE || event.event_type == IBV_EVENT_PORT_ACTIVE ||
         event.event_type == IBV_EVENT_PORT_ERR;
}

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

/// Takes one from the semaphore if there is one, however the program has set the descriptor.
void take_without_waiting(int fd) {
  std::uint64_t one = 0;
  iovec room{.iov_base = &one, .iov_len = sizeof(one)};
  if (preadv2(fd, &room, 1, -1, RWF_NOWAIT) >= 0 || errno != EOPNOTSUPP) return;
  // Kernels before 5.8 cannot do that for an eventfd.
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, 0) == 1) {
    [[maybe_unused]] const ssize_t taken = ::read(fd, &one, sizeof(one));
  }
}

}  // namespace

AsyncEvents::AsyncEvents() : fd_(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)) {}

AsyncEvents::~AsyncEvents() {
  if (fd_ >= 0) close(fd_);
}

// Cancellation unwinds through this frame, with the program's unwinder and not with ours: no destructors
// here.
int AsyncEvents::wait(ibv_async_event& event) {
  std::uint64_t one = 0;
  do {
    if (::read(fd_, &one, sizeof(one)) < 0) return errno;
  } while (!take(event));  // it may have been forgotten since
  return 0;
}

[[gnu::noinline]] bool AsyncEvents::take(ibv_async_event& event) {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) return false;
  event = events_.front();
  events_.pop_front();
  if (is_of_port(event)) return true;
  if (is_of_cq(event)) {
    ++Cq::of(event.element.cq).async_events_fetched;
  } else if (is_of_srq(event)) {
    ++Srq::of(event.element.srq).events_fetched;
  } else if (is_of_wq(event)) {
    ++Wq::of(event.element.wq).events_fetched;
  } else {
    ++Qp::of(event.element.qp).events_fetched;
  }
  return true;
}

void AsyncEvents::push(const ibv_async_event& event) noexcept {
  {
    const std::lock_guard lock(mutex_);
    try {
      events_.push_back(event);
    } catch (const std::bad_alloc&) {
      return;  // the program will see the state of the object; nothing more can be done here
    }
  }
  // Not write(): librspreload wraps that one, and this may run under the engine lock.
  const std::uint64_t one = 1;
  syscall(SYS_write, fd_, &one, sizeof(one));
}

template <typename Predicate>
void AsyncEvents::forget_if(Predicate concerns) {
  const std::lock_guard lock(mutex_);
  const auto kept = std::remove_if(events_.begin(), events_.end(), concerns);
  for (auto forgotten = events_.end() - kept; forgotten > 0; --forgotten) take_without_waiting(fd_);
  events_.erase(kept, events_.end());
}

void AsyncEvents::forget(const ibv_qp& qp) {
  forget_if([&qp](const ibv_async_event& event) {
    return !is_of_port(event) && !is_of_cq(event) && !is_of_srq(event) && !is_of_wq(event) &&
           event.element.qp == &qp;
  });
}

void AsyncEvents::forget(const ibv_cq& cq) {
  forget_if([&cq](const ibv_async_event& event) { return is_of_cq(event) && event.element.cq == &cq; });
}

void AsyncEvents::forget(const ibv_srq& srq) {
  forget_if([&srq](const ibv_async_event& event) { return is_of_srq(event) && event.element.srq == &srq; });
}

void AsyncEvents::forget(const ibv_wq& wq) {
  forget_if([&wq](const ibv_async_event& event) { return is_of_wq(event) && event.element.wq == &wq; });
}

ibv_async_event port_event(ibv_event_type type) {
  return {.element = {.port_num = kPort}, .event_type = type};
}

void deliver_qp_event(void* qp, QpEvent event) noexcept {
  static_cast<QpHandles*>(qp)->push(type_of(event));
}

void deliver_wq_fatal(void* wq) noexcept {
  Wq& concerned = *static_cast<Wq*>(wq);
  Context::of(concerned.context)
      .async_events()
      .push({.element = {.wq = &concerned}, .event_type = IBV_EVENT_WQ_FATAL});
}

void deliver_srq_limit(void* srq) noexcept {
  Srq& concerned = *static_cast<Srq*>(srq);
  Context::of(concerned.context)
      .async_events()
      .push({.element = {.srq = &concerned}, .event_type = IBV_EVENT_SRQ_LIMIT_REACHED});
}

void deliver_cq_overrun(void* cq) noexcept {
  Cq& concerned = *static_cast<Cq*>(cq);
  Context::of(concerned.context)
      .async_events()
      .push({.element = {.cq = concerned.abi()}, .event_type = IBV_EVENT_CQ_ERR});
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;

extern "C" {

// Not noexcept, nor anything it calls: a thread that waits here may be cancelled, which is an exception in
// C++.
int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  Context& waiting = Context::of(context);
  if (waiting.is_dead()) {
    errno = waiting.dead_error();
    return -1;
  }
  const int error = waiting.async_events().wait(*event);
  if (error != 0) {
    errno = error;
    return -1;
  }
  return 0;
}

void ibv_ack_async_event(ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
      return;
    case IBV_EVENT_CQ_ERR: {
      ibv_cq& cq = *event->element.cq;
      pthread_mutex_lock(&cq.mutex);
      ++cq.async_events_completed;
      pthread_cond_signal(&cq.cond);
      pthread_mutex_unlock(&cq.mutex);
      return;
    }
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
      ibv_srq& srq = *event->element.srq;
      pthread_mutex_lock(&srq.mutex);
      ++srq.events_completed;
      pthread_cond_signal(&srq.cond);
      pthread_mutex_unlock(&srq.mutex);
      return;
    }
    case IBV_EVENT_WQ_FATAL: {
      ibv_wq& wq = *event->element.wq;
      pthread_mutex_lock(&wq.mutex);
      ++wq.events_completed;
      pthread_cond_signal(&wq.cond);
      pthread_mutex_unlock(&wq.mutex);
      return;
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
      ibv_qp& qp = *event->element.qp;
      pthread_mutex_lock(&qp.mutex);
      ++qp.events_completed;
      pthread_cond_signal(&qp.cond);
      pthread_mutex_unlock(&qp.mutex);
      return;
    }
    default:
      return;  // of a port or device: nothing waits for it
  }
}

}  // extern "C"
