#include "nic/status_socket.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "nic/lock_file.h"

namespace urnic::nic {

std::string status_socket_name() {
  struct stat pid_namespace {};
  stat("/proc/self/ns/pid", &pid_namespace);
  return fmt::format("{}{}.{}", kStatusPrefix, getpid(), pid_namespace.st_ino);
}

bool is_status_socket_name(std::string_view name) {
  if (!name.starts_with(kStatusPrefix)) return false;
  const std::string_view numbers = name.substr(kStatusPrefix.size());
  return numbers.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::count(numbers.begin(), numbers.end(), '.') == 1;
}

Result<StatusFolder, Error> StatusFolder::open() {
  auto path = private_folder();
  if (!path) return failure(path.error());
  const int fd = ::open(path.value().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    const int code = errno;
    return failure(
        Error{.code = code,
              .message = fmt::format("folder {}: {}", path.value(), std::generic_category().message(code))});
  }
  return StatusFolder(std::move(path.value()), fd);
}

StatusFolder::StatusFolder(StatusFolder&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

StatusFolder::~StatusFolder() {
  if (fd_ >= 0) syscall(SYS_close, fd_);
}

// Socket addresses hold 107 bytes of path, and runtime folders may be longer: the way through the descriptor
// is not.
sockaddr_un StatusFolder::address_of(std::string_view name) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1, "/proc/self/fd/{}/{}", fd_, name);
  return address;
}

void StatusFolder::remove(std::string_view name) const {
  unlinkat(fd_, std::string(name).c_str(), 0);
}

std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (syscall(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

}  // namespace urnic::nic
