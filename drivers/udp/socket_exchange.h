// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SocketExchange: sockets on their way to a port, from the connection to the host's switch.
#pragma once

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "drivers/descriptor.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {

/// What a process receives through that shares the host's addresses with others.
struct SharedSockets {
  Descriptor ipv4;  ///< UDP, bound to RoCE's port at all IPv4 addresses; gets what is for queue pairs and
                    ///< communication ids of this process's share
  Descriptor ipv6;  ///< the same for IPv6; none where the host has no IPv6
  /// A Unix socket of datagrams, each an IP packet as PacketPort::receive() gives it: what the switch has for
  /// this process, such as connection requests, and what the process got that is another one's.
  Descriptor handed_over;
  std::uint8_t share = 0;                           ///< this process's; see nic::NumberShare
  std::uint16_t port = transport::wire::kRocePort;  ///< that the sockets of all members are bound to
};

/// One thread gives, the port's takes. The sockets change when the switch is another one.
class SocketExchange {
 public:
  SocketExchange() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  /// The port has these from now on.
  void give(SharedSockets sockets) {
    udp_port_.store(sockets.port, std::memory_order_relaxed);
    put(std::move(sockets));
  }
  /// Of the sockets that were given last. Any thread.
  std::uint16_t udp_port() const { return udp_port_.load(std::memory_order_relaxed); }
  /// The port gives back those that it has.
  void withdraw() { put(std::nullopt); }

  /// The port's thread: whether something is to be taken.
  bool has_news() const { return has_news_.load(std::memory_order_acquire); }
  /// What the port has from now on; nothing: none.
  std::optional<SharedSockets> take() {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    [[maybe_unused]] const long read = syscall(SYS_read, wake_.get(), &count, sizeof count);
    has_news_.store(false, std::memory_order_relaxed);
    return std::exchange(sockets_, std::nullopt);
  }
  /// An eventfd that is readable while there is news. -1: there are no more descriptors.
  int wake_fd() const { return wake_.get(); }

 private:
  // System calls in place of the C library's functions, which librspreload replaces.
  void put(std::optional<SharedSockets> sockets) {
    const std::lock_guard lock(mutex_);
    sockets_ = std::move(sockets);
    has_news_.store(true, std::memory_order_release);
    const std::uint64_t one = 1;
    [[maybe_unused]] const long written = syscall(SYS_write, wake_.get(), &one, sizeof one);
  }

  const Descriptor wake_;
  std::mutex mutex_;
  std::optional<SharedSockets> sockets_;  // under the mutex
  std::atomic<bool> has_news_{false};
  std::atomic<std::uint16_t> udp_port_{transport::wire::kRocePort};
};

}  // namespace urnic::drivers
