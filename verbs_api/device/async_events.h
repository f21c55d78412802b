// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AsyncEvents: what happened to objects of a context and to its port, told through its async_fd.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

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

  /// Waits in read() on fd(); 0, or the errno value of the read. The program may cancel the thread meanwhile.
  /// The object of the event counts it as fetched, and its destruction waits until the program acknowledges
  /// it.
  int wait(ibv_async_event& event);

  /// Adds an event of an object, which has `fetched` to count how many of its events the program has fetched.
  /// May be called under the engine lock: waits for nothing, and does not know the device.
  void push(const ibv_async_event& event, std::uint32_t& fetched) noexcept {
    add({.event = event, .fetched = &fetched});
  }
  /// Adds an event of the port.
  void push_port(ibv_event_type type) noexcept;

  struct Unread {
    ibv_event_type type;
    std::chrono::steady_clock::time_point since;
  };
  /// What the program has not fetched, the oldest first.
  std::vector<Unread> unread();
  /// Whether an event of that kind waits that `fetched` would count.
  bool has_unread(ibv_event_type type, const std::uint32_t& fetched);

  /// Forgets the events that `fetched` would count: the program destroys their object, and push() is not
  /// called for it any more.
  void forget(const std::uint32_t& fetched);

 private:
  struct Waiting {
    ibv_async_event event;
    std::uint32_t* fetched;  ///< null for an event of the port
    std::chrono::steady_clock::time_point since{};
  };

  void add(Waiting waiting) noexcept;
  bool take(ibv_async_event& event);

  int fd_;
  std::mutex mutex_;  ///< guards the counters of the objects, too
  std::deque<Waiting> waiting_;
};

}  // namespace urnic::verbs_api
