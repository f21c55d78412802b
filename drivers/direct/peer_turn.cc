// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/direct/peer_turn.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "drivers/peer_process.h"

namespace urnic::drivers {
namespace {

/// struct linux_dirent64, which the C library does not have.
struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};
constexpr std::size_t kNameAt = offsetof(Entry, name);

bool thread_wants_processor(int tasks, std::string_view thread) {
  std::array<char, 32> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "{}/stat", thread);
  return state_in(path.data(), tasks) == 'R';
}

bool one_wants_processor(int tasks) {
  std::array<char, 2048> entries{};
  for (;;) {
    const long bytes = syscall(SYS_getdents64, tasks, entries.data(), entries.size());
    if (bytes <= 0) return false;
    for (long at = 0; at < bytes;) {
      std::uint16_t length = 0;
      std::memcpy(&length, &entries[static_cast<std::size_t>(at) + offsetof(Entry, bytes)], sizeof length);
      const std::string_view name(&entries[static_cast<std::size_t>(at) + kNameAt]);
      if (!name.starts_with('.') && thread_wants_processor(tasks, name)) return true;
      at += length;
    }
  }
}

}  // namespace

bool wants_processor(pid_t process) {
  std::array<char, 32> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/task", process);
  const long tasks = syscall(SYS_openat, AT_FDCWD, path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) return false;
  const bool one_wants = one_wants_processor(static_cast<int>(tasks));
  syscall(SYS_close, tasks);
  return one_wants;
}

bool PeerTurn::is_awaited(pid_t process, std::uint64_t taken) {
  if (process == 0) return false;
  const Clock::time_point now = Clock::now();
  if (taken_ != taken) {
    taken_ = taken;
    since_ = now;
  }
  if (now - since_ > kLongest) return false;
  if (now - looked_at_ < kLook) return wants_processor_;
  looked_at_ = now;
  wants_processor_ = wants_processor(process);
  return wants_processor_;
}

}  // namespace urnic::drivers
