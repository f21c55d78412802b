// AsyncEvents: what happened to queue pairs and queues of a context, told through its async_fd.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

#include "transport/qp_state.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// An eventfd in semaphore mode and a queue beside it, like nic::CompletionChannel: the descriptor is
/// readable while events wait, and programs poll it and set it O_NONBLOCK.
class AsyncEvents {
 public:
  AsyncEvents();  ///< check fd() >= 0
  ~AsyncEvents();
  AsyncEvents(const AsyncEvents&) = delete;
  AsyncEvents& operator=(const AsyncEvents&) = delete;

  int fd() const { return fd_; }

  /// Waits in read() on fd(); 0, or the errno value of the read. The thread may be cancelled meanwhile. The
  /// object of the event counts it as fetched, and its destruction waits until it is acknowledged.
  int wait(ibv_async_event& event);

  /// Adds an event. May be called under the engine lock: waits for nothing, and does not know the device.
  void push(const ibv_async_event& event) noexcept;

  /// Forgets events of an object that is being destroyed, and for which push() is not called any more.
  void forget(const ibv_qp& qp);
  void forget(const ibv_cq& cq);
  void forget(const ibv_srq& srq);
  void forget(const ibv_wq& wq);

 private:
  bool take(ibv_async_event& event);
  template <typename Predicate>
  void forget_if(Predicate concerns);

  int fd_;
  std::mutex mutex_;
  std::deque<ibv_async_event> events_;
};

/// What happened to the port of a context.
ibv_async_event port_event(ibv_event_type type);

/// The device's event handlers: `qp` (QpHandles), `wq`, `srq` and `cq` are what was given as context when
/// they were created.
void deliver_qp_event(void* qp, transport::QpEvent event) noexcept;
void deliver_wq_fatal(void* wq) noexcept;
void deliver_srq_limit(void* srq) noexcept;
void deliver_cq_overrun(void* cq) noexcept;

}  // namespace urnic::verbs_api
