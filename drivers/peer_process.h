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

/// Whether the process may run when its turn on a processor comes: it is not stopped, by SIGSTOP or a debugger, as far
/// as we can see. True of 0, which is a process that is not known, and of those that /proc does not show. Asks the kernel
/// without the C library's functions, which librspreload replaces: the engine asks.
inline bool process_may_run(pid_t process) {
  if (process == 0) return true;
  std::array<char, 64> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/stat", process);
  const long fd = syscall(SYS_openat, AT_FDCWD, path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  // The state is a letter behind the name, which is in parentheses and has up to 16 bytes (proc(5)).
  std::array<char, 64> line{};
  const long bytes = syscall(SYS_read, fd, line.data(), line.size());
  syscall(SYS_close, fd);
  const std::string_view text(line.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  const std::size_t state = text.rfind(')') + 2;
  return text.size() <= state || (text[state] != 'T' && text[state] != 't');
}

}  // namespace urnic::drivers
