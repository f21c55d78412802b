// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Link: what other threads tell a port about its peers, and how they are kept off its feet.
#pragma once

#include <rte_ethdev.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "drivers/descriptor.h"
#include "transport/result.h"

namespace urnic::drivers {

/// The state that a port shares with the threads that look after its peers (DPDK's vhost thread,
/// VhostFrontServer's): whether a peer is at the other end, a descriptor that wakes a sleeper, and a gate
/// that keeps a peer's memory mapped while the port works with it.
class Link {
 public:
  /// `on_up` is called on DPDK's threads whenever a peer has come.
  static Result<std::unique_ptr<Link>, Error> create(std::function<void(Link&)> on_up);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  bool is_up() const { return up_.load(std::memory_order_relaxed); }
  /// How many peers have gone.
  std::uint32_t departures() const { return departures_.load(std::memory_order_relaxed); }
  /// Says whether a peer is at the other end, from any thread. When the peer has gone, returns once the port
  /// is not at work with the peer's memory.
  void report(bool up);

  /// Notes which process the peer is, from any thread. 0: not known.
  void set_peer_process(pid_t process) { peer_process_.store(process, std::memory_order_relaxed); }
  /// Whether the peer may take frames when its turn on a processor comes: it is there, and is not stopped (by
  /// SIGSTOP or a debugger) as far as we can see. Asks the kernel, without glibc.
  bool peer_may_run() const;

  /// Has the driver of `port_id`, which runs, report its state now and whenever it changes. Call
  /// unsubscribe() before this object ends.
  void subscribe(std::uint16_t port_id);
  void unsubscribe(std::uint16_t port_id);

  /// Readable from the first frame after drain(), and whenever the link changes. The same for the port's
  /// whole life, whatever peers come and go.
  int wake_fd() const { return epoll_.get(); }
  /// Makes wake_fd() readable each time `fd` is signalled. `fd` need not be read. Borrowed.
  void add_wake_source(int fd);
  void drain();

  /// Held around every call into the driver that touches queues: a peer's memory is not unmapped meanwhile.
  class Use {
   public:
    explicit Use(Link& link) : link_(link) { link_.enter(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { link_.in_use_.store(false, std::memory_order_release); }

   private:
    Link& link_;
  };

 private:
  Link() = default;
  bool read_state(std::uint16_t port_id);
  static int on_event(std::uint16_t port_id, rte_eth_event_type event, void* self, void* unused);
  void wake() const;
  void wait_until_unused() const;

  void enter() {
    in_use_.store(true, std::memory_order_relaxed);
    // The other half of this fence is the one in wait_until_unused(). It is rare, so it pays for both if it
    // can.
    if (asymmetric_fence_) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }

  std::function<void(Link&)> on_up_;
  std::atomic<bool> up_ = false;
  std::atomic<std::uint32_t> departures_ = 0;
  std::atomic<pid_t> peer_process_ = 0;
  std::atomic<bool> in_use_ = false;
  bool asymmetric_fence_ = false;
  Descriptor epoll_;
  Descriptor event_;
};

}  // namespace urnic::drivers
