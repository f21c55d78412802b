// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/status_socket.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "nic/host/lock_file.h"

namespace urnic::nic {

namespace {

constexpr std::string_view kStatusPrefix = "status.";

}  // namespace

ProcessName ProcessName::own() {
  struct stat pid_namespace {};
  stat("/proc/self/ns/pid", &pid_namespace);
  return {.process = getpid(), .pid_namespace = pid_namespace.st_ino};
}

std::optional<ProcessName> ProcessName::parse(std::string_view text) {
  ProcessName name;
  const char* const end = text.data() + text.size();
  const auto [dot, no_process] = std::from_chars(text.data(), end, name.process);
  if (no_process != std::errc() || dot == end || *dot != '.' || name.process <= 0) return std::nullopt;
  const auto [last, no_namespace] = std::from_chars(dot + 1, end, name.pid_namespace);
  if (no_namespace != std::errc() || last != end) return std::nullopt;
  return name;
}

std::string ProcessName::to_string() const {
  return fmt::format("{}.{}", process, pid_namespace);
}

StatusName StatusName::own(unsigned device) {
  return {.process = ProcessName::own(), .device = device};
}

std::optional<StatusName> StatusName::parse(std::string_view text) {
  if (!text.starts_with(kStatusPrefix)) return std::nullopt;
  text.remove_prefix(kStatusPrefix.size());
  if (const auto process = ProcessName::parse(text)) return StatusName{.process = *process};
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto process = ProcessName::parse(text.substr(0, dot));
  unsigned device = 0;
  const char* const end = text.data() + text.size();
  const auto [last, failed] = std::from_chars(text.data() + dot + 1, end, device);
  if (!process || failed != std::errc() || last != end || device == 0) return std::nullopt;
  return StatusName{.process = *process, .device = device};
}

std::string StatusName::to_string() const {
  const std::string name = std::string(kStatusPrefix) + process.to_string();
  return device == 0 ? name : fmt::format("{}.{}", name, device);
}

Result<StatusFolder, Error> StatusFolder::open() {
  auto path = private_folder();
  if (!path) return failure(path.error());
  Descriptor fd(::open(path.value().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    const int code = errno;
    return failure(
        Error{.code = code,
              .message = fmt::format("folder {}: {}", path.value(), std::generic_category().message(code))});
  }
  return StatusFolder(std::move(path.value()), std::move(fd));
}

// Socket addresses hold 107 bytes of path, and runtime folders may be longer: the way through the descriptor
// is not.
sockaddr_un StatusFolder::address_of(std::string_view name) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1, "/proc/self/fd/{}/{}", fd(), name);
  return address;
}

void StatusFolder::remove(std::string_view name) const {
  unlinkat(fd(), std::string(name).c_str(), 0);
}

// A datagram socket cannot connect to a stream socket. The kernel says so (EPROTOTYPE) where a process has
// the stream socket open, and refuses where no process has it. The process that has it does not notice.
bool StatusFolder::is_stale(std::string_view name) const {
  const Descriptor socket(static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  if (!socket) return false;
  const sockaddr_un address = address_of(name);
  return syscall(SYS_connect, socket.get(), &address, sizeof address) != 0 && errno == ECONNREFUSED;
}

// Between the question and the removal a new process may give its socket the name of a dead one's. So the
// file is moved aside and asked again; a socket that turns out to be alive gets its name back.
void StatusFolder::remove_stale_sockets() const {
  const std::string aside = ".stale." + ProcessName::own().to_string();
  std::error_code code;
  for (std::filesystem::directory_iterator entry(path_, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    std::error_code gone;
    if (!StatusName::parse(name) || !entry->is_socket(gone) || !is_stale(name)) continue;
    if (renameat(fd(), name.c_str(), fd(), aside.c_str()) != 0) continue;
    if (is_stale(aside)) {
      remove(aside);
    } else {
      renameat2(fd(), aside.c_str(), fd(), name.c_str(), RENAME_NOREPLACE);
    }
  }
}

std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (syscall(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

}  // namespace urnic::nic
