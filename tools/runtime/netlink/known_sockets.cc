// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/netlink/known_sockets.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "tools/runtime/netlink/system_calls.h"

namespace urnic::netlink {
namespace {

/// 0: it is no socket. All sockets are in one file system, so that the inode tells them apart.
std::uint64_t socket_inode(int fd) {
  struct stat status {};
  const int before = errno;
  const bool is_socket =
      syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) == 0 && S_ISSOCK(status.st_mode);
  errno = before;
  return is_socket ? status.st_ino : 0;
}

}  // namespace

std::uint64_t KnownSockets::find(int fd) const {
  if (is_empty() || fd < 0) return 0;
  const std::uint64_t inode = socket_inode(fd);
  if (inode == 0) return 0;
  const std::size_t used = used_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    if (inodes_[i].load(std::memory_order_relaxed) == inode) return inode;
  }
  return 0;
}

bool KnownSockets::add(int fd) {
  const std::uint64_t inode = socket_inode(fd);
  for (std::size_t i = 0; i < kMost; ++i) {
    std::uint64_t expected = 0;
    if (inodes_[i].load(std::memory_order_relaxed) == inode) return true;
    if (!inodes_[i].compare_exchange_strong(expected, inode)) continue;
    std::size_t used = used_.load();
    while (used < i + 1 && !used_.compare_exchange_weak(used, i + 1)) continue;
    count_.fetch_add(1);
    return true;
  }
  return false;
}

bool KnownSockets::has_other_descriptor(std::uint64_t inode, int fd) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return true;
  while (const dirent* const entry = readdir(folder.get())) {
    const int other = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && other != fd && socket_inode(other) == inode) return true;
  }
  return false;
}

std::uint64_t KnownSockets::forget_before_close(int fd) {
  const std::uint64_t inode = find(fd);
  if (inode == 0 || has_other_descriptor(inode, fd)) return 0;
  for (std::atomic<std::uint64_t>& slot : inodes_) {
    std::uint64_t expected = inode;
    if (slot.compare_exchange_strong(expected, 0)) {
      count_.fetch_sub(1);
      return inode;
    }
  }
  return 0;
}

}  // namespace urnic::netlink
