// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// KnownSockets: which descriptors of the process are sockets that urnic answers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace urnic::netlink {

/// Sockets are known by their inodes, whatever descriptors the program has of one. Everything that a program
/// sends and receives asks here first, also in signal handlers and after vfork(): nothing waits or allocates.
class KnownSockets {
 public:
  static constexpr std::size_t kMost = 1024;

  /// Of a descriptor; 0: it is no known socket.
  std::uint64_t find(int fd) const;
  bool is_empty() const { return count_.load(std::memory_order_acquire) == 0; }
  /// False: there are too many.
  bool add(int fd);
  /// The program is about to close `fd`. Forgets the socket if that is its last descriptor, as far as /proc
  /// shows, and returns its inode then; otherwise 0.
  std::uint64_t forget_before_close(int fd);

 private:
  bool has_other_descriptor(std::uint64_t inode, int fd) const;

  /// Free ones are 0.
  std::array<std::atomic<std::uint64_t>, kMost> inodes_{};
  std::atomic<std::size_t> used_{0};  ///< slots from the first one on that were ever taken
  std::atomic<int> count_{0};
};

}  // namespace urnic::netlink
