// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Sockets: sockets of the family NETLINK_RDMA that programs have, and their answers.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "tools/runtime/netlink/answerer.h"
#include "tools/runtime/netlink/kernel_socket.h"
#include "tools/runtime/netlink/known_sockets.h"
#include "tools/runtime/netlink/state.h"

namespace urnic::netlink {

/// What a program has in the place of a NETLINK_RDMA socket is one of NETLINK_USERSOCK, by which unprivileged
/// processes may talk to each other: the kernel gives it its port, its queue, its waiting and its
/// truncation. What the program sends to the kernel by it is answered here, before the call returns, from
/// another socket of the process. The program's socket is connected to that, so that it receives from no
/// other one. Answers that its queue has no room for follow as the program receives, as the kernel's dumps
/// do.
///
/// The functions are the system calls of the same name, with their results and errno. Any thread; a child of
/// a fork goes on with its sockets, except with answers that its parent has begun to receive.
class Sockets {
 public:
  /// `folder` shows the devices ($URNIC_PATHS); `rdma_cm` is the device number of the node of rdma_cm.
  Sockets(std::string folder, dev_t rdma_cm);

  /// A descriptor, which exec closes: a new program could not be answered. Where there are no sockets of
  /// NETLINK_USERSOCK, the error that the kernel has for NETLINK_RDMA.
  int open(int type);
  /// Whether the descriptor is of such a socket. Safe in signal handlers.
  bool owns(int fd) const { return known_.find(fd) != 0; }

  ssize_t send(int fd, const msghdr& message, int flags);
  ssize_t receive(int fd, msghdr& message, int flags);
  /// EOPNOTSUPP for multicast groups: nothing is told that no program has asked.
  int bind(int fd, const sockaddr* address, socklen_t size);
  /// To the kernel, which it is already; EPERM: to another one.
  int connect(int fd, const sockaddr* address, socklen_t size);
  int set_option(int fd, int level, int name, const void* value, socklen_t size);
  int get_option(int fd, int level, int name, void* value, socklen_t* size);
  /// The program is about to close a descriptor, of whatever.
  void before_close(int fd);

  /// Around a fork.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  /// In the child, with the lock held.
  void become_child();

 private:
  /// Answers that wait for room.
  struct Waiting {
    std::deque<Bytes> answers;
    std::size_t bytes = 0;
    bool has_overrun = false;
  };

  Asker asker_of(int fd, std::uint64_t inode);
  int connect_to_answers(int fd);
  void deliver(int fd, Waiting& waiting);
  bool has_answers_socket() const;

  ShownState state_;
  KernelSocket kernel_;
  std::optional<bool> has_kernel_;
  const dev_t rdma_cm_;
  KnownSockets known_;
  pid_t process_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;  ///< by inode
  int answers_fd_ = -1;                                 ///< the program may have closed it
  std::uint64_t answers_inode_ = 0;
};

}  // namespace urnic::netlink
