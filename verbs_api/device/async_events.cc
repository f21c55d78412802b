// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

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

#include "verbs_api/device/address.h"
#include "verbs_api/device/context.h"
#include "verbs_api/fault/call_faults.h"

namespace urnic::verbs_api {
namespace {

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
  if (waiting_.empty()) return false;
  const Waiting first = waiting_.front();
  waiting_.pop_front();
  event = first.event;
  if (first.fetched != nullptr) ++*first.fetched;
  return true;
}

void AsyncEvents::push_port(ibv_event_type type) noexcept {
  add({.event = {.element = {.port_num = kPort}, .event_type = type}, .fetched = nullptr});
}

void AsyncEvents::add(Waiting waiting) noexcept {
  waiting.since = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    try {
      waiting_.push_back(waiting);
    } catch (const std::bad_alloc&) {
      return;  // the program will see the state of the object; nothing more can be done here
    }
  }
  // Not write(): librspreload wraps that one, and this may run under the engine lock.
  const std::uint64_t one = 1;
  syscall(SYS_write, fd_, &one, sizeof(one));
}

std::vector<AsyncEvents::Unread> AsyncEvents::unread() {
  std::vector<Unread> result;
  const std::lock_guard lock(mutex_);
  for (const Waiting& waiting : waiting_) result.push_back({waiting.event.event_type, waiting.since});
  return result;
}

bool AsyncEvents::has_unread(ibv_event_type type, const std::uint32_t& fetched) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(waiting_, [&](const Waiting& waiting) {
    return waiting.fetched == &fetched && waiting.event.event_type == type;
  });
}

void AsyncEvents::forget(const std::uint32_t& fetched) {
  const std::lock_guard lock(mutex_);
  const auto forgotten =
      std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.fetched == &fetched; });
  for (std::size_t i = 0; i < forgotten; ++i) take_without_waiting(fd_);
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::Verb;

extern "C" {

// Not noexcept, nor anything it calls: a thread that waits here may be cancelled, which is an exception in
// C++.
int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (const int error = injected_error(Verb::kGetAsyncEvent); error != 0) {
    errno = error;
    return -1;
  }
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
  if (const auto* const ledgers = waiting.ledgers()) ledgers->event_read();
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
    case IBV_EVENT_SRQ_ERR:
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
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
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
