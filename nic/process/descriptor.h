// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Descriptor: owns a file descriptor that is this process's alone.
#pragma once

#include <sys/types.h>

#include <boost/intrusive/list_hook.hpp>

namespace urnic::nic {

/// Holds a descriptor that the program does not know: of sockets, eventfds, locks, the connection to a
/// switch. A child that a fork makes has none of them (OwnDescriptors): it may live on for long, and would
/// keep ports and locks from other processes. exec closes them by O_CLOEXEC, which the opener sets.
///
/// Moved and destroyed on any thread, each by one at a time. Does not allocate.
class Descriptor {
 public:
  /// Takes it over; -1: none.
  explicit Descriptor(int fd = -1);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }

  /// -1: none.
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Closes it, if there is one.
  void reset();
  /// Gives it away. From now on a child has it, too.
  int release();

 private:
  friend class OwnDescriptors;
  friend struct DescriptorList;
  void take_over(Descriptor& other) noexcept;

  int fd_ = -1;
  // A program may close what it does not know, and the number may be another file's.
  dev_t device_ = 0;
  ino_t inode_ = 0;
  boost::intrusive::list_member_hook<> in_list_;
};

/// `fd` is a library's, which closes it by itself; a child is not to have it either. Allocates. Any thread.
void keep_from_children(int fd);

/// While there is one, no fork happens: for functions of the C library that have a descriptor meanwhile,
/// which a child would keep. These functions do not wait, and no lock is taken under it except the list's.
class ForkPause {
 public:
  ForkPause();
  ~ForkPause();
  ForkPause(const ForkPause&) = delete;
  ForkPause& operator=(const ForkPause&) = delete;
};

/// What pthread_atfork() is given.
class OwnDescriptors {
 public:
  /// Held while a fork happens, so that the child finds a whole list. No other lock is taken under it, and
  /// nothing waits.
  static void lock();
  static void unlock();
  /// In the child, with the lock held: closes every one. A number that another file has got stays open.
  static void close_in_child();
};

}  // namespace urnic::nic
