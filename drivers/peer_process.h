// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What can be seen of the process at the other end of a wire.
#pragma once

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace urnic::drivers {

/// The letter of proc(5) for the state of a process or thread; `stat` is its file, below `folder` unless it
/// is an absolute path. 0 where /proc does not show it. Asks the kernel without the C library's functions,
/// which librspreload replaces: the engine asks.
inline char state_in(const char* stat, int folder = AT_FDCWD) {
  const long fd = syscall(SYS_openat, folder, stat, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  // The state is a letter after the name, which is in parentheses and has up to 16 bytes.
  std::array<char, 64> line{};
  const long bytes = syscall(SYS_read, fd, line.data(), line.size());
  syscall(SYS_close, fd);
  const std::string_view text(line.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  const std::size_t at = text.rfind(')') + 2;
  return at < text.size() ? text[at] : '\0';
}

/// Whether the process may run when its turn on a processor comes: it is not stopped, by SIGSTOP or a
/// debugger, as far as we can see. True of 0, which is a process that is not known, and of those that /proc
/// does not show.
inline bool process_may_run(pid_t process) {
  if (process == 0) return true;
  std::array<char, 64> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/stat", process);
  const char state = state_in(path.data());
  return state != 'T' && state != 't';
}

}  // namespace urnic::drivers
