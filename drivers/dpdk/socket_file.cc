// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/socket_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "nic/host/lock_file.h"
#include "nic/process/may_wait.h"

namespace urnic::drivers {

static_assert(kMaxSocketPathBytes == sizeof(sockaddr_un::sun_path) - 1);

namespace {

constexpr int kWaitingClients = 8;

Error path_error(int code, const std::string& path, const std::string& reason) {
  return Error{code, fmt::format("vhost socket {}: {}", path, reason)};
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

// Asks without bothering a server: a datagram socket cannot connect to a stream socket, and the kernel says
// so (EPROTOTYPE) only where a process has the socket open. A real connection would take the place of a peer.
int ask_for_server(const std::string& path) {
  const Descriptor datagram(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!datagram) return errno;
  const sockaddr_un address = address_of(path);
  const int result = connect(datagram.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return result == 0 ? EPROTOTYPE : errno;
}

// Succeeds when the name is free, or a server that died left it there.
Result<void, Error> check_free(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return success();
    return path_error(errno, path, std::strerror(errno));
  }
  if (!S_ISSOCK(status.st_mode)) return path_error(EEXIST, path, "exists and is not a socket");
  switch (const int error = ask_for_server(path); error) {
    case ECONNREFUSED:
      return success();
    case EPROTOTYPE:
      return path_error(EADDRINUSE, path, "another process serves it (use the back side, or another path)");
    default:
      return path_error(error, path, std::strerror(error));
  }
}

// A user that may open a folder may lock it. So in a folder like /tmp another user could keep our lock away
// without end.
Result<Descriptor, Error> folder_to_lock(int folder_fd) {
  struct stat status {};
  const bool is_closed = fstat(folder_fd, &status) == 0 && status.st_uid == geteuid() &&
                         (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  if (is_closed) return Descriptor(fcntl(folder_fd, F_DUPFD_CLOEXEC, 0));
  const auto own = nic::private_folder();
  if (!own) return own.error();
  return Descriptor(open(own.value().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Another port that opens or closes in the same folder has the lock for some milliseconds.
bool lock_patiently(int folder_fd) {
  nic::assert_may_wait();
  constexpr int kTries = 500;
  for (int tries = 0; tries < kTries; ++tries) {
    if (flock(folder_fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) return false;
    usleep(10'000);
  }
  return false;
}

}  // namespace

Result<void, Error> check_socket_path(const std::string& path) {
  if (path.empty() || path.back() == '/') return path_error(EINVAL, path, "the path has no file name");
  if (path.size() > kMaxSocketPathBytes) {
    return path_error(ENAMETOOLONG, path,
                      fmt::format("the path has {} bytes, at most {} fit a socket address", path.size(),
                                  kMaxSocketPathBytes));
  }
  // DPDK separates the arguments of a device by commas and cannot quote them.
  if (path.find(',') != std::string::npos) {
    return path_error(EINVAL, path, "the path must not contain a comma");
  }
  return success();
}

std::string private_socket_name(const std::string& path) {
  return fmt::format(".urnic-{:016x}", std::hash<std::string>{}(name_of(path)));
}

Result<Descriptor, Error> listen_at(const std::string& path) {
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  // Before it has a name, so that there is no moment in which others may connect.
  if (!listener || fchmod(listener.get(), S_IRUSR | S_IWUSR) != 0 ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener.get(), kWaitingClients) != 0) {
    return path_error(errno, path, std::strerror(errno));
  }
  return listener;
}

Result<SocketFile, Error> SocketFile::claim(const std::string& path) {
  if (const auto fine = check_socket_path(path); !fine) return fine.error();

  SocketFile file;
  file.path_ = path;
  file.name_ = name_of(path);
  file.private_name_ = private_socket_name(path);
  file.folder_ = Descriptor(open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.folder_ || faccessat(file.folder_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return path_error(errno, path, fmt::format("its folder: {}", std::strerror(errno)));
  }
  // Through the descriptor the address stays short, however deep the folder.
  file.private_path_ = fmt::format("/proc/self/fd/{}/{}", file.folder_.get(), file.private_name_);

  auto turn = folder_to_lock(file.folder_.get());
  if (!turn) return turn.error();
  file.turn_ = std::move(turn.value());
  if (!lock_patiently(file.turn_.get())) {
    return path_error(errno, path, fmt::format("cannot lock its folder: {}", std::strerror(errno)));
  }
  file.locked_ = true;
  if (const auto free = check_free(path); !free) return free.error();
  unlinkat(file.folder_.get(), file.private_name_.c_str(), 0);
  return file;
}

Result<Descriptor, Error> SocketFile::publish() {
  unlinkat(folder_.get(), private_name_.c_str(), 0);
  auto listener = listen_at(private_path_);
  if (!listener) return path_error(listener.error().code, path_, std::strerror(listener.error().code));
  struct stat status {};
  if (fstatat(folder_.get(), private_name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      renameat(folder_.get(), private_name_.c_str(), folder_.get(), name_.c_str()) != 0) {
    return path_error(errno, path_, std::strerror(errno));
  }
  inode_ = status.st_ino;
  unlock();
  return listener;
}

void SocketFile::remove() {
  if (inode_ == 0) return;
  locked_ = lock_patiently(turn_.get());
  struct stat status {};
  if (fstatat(folder_.get(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_ino == inode_) {
    unlinkat(folder_.get(), name_.c_str(), 0);
  }
  inode_ = 0;
  unlock();
}

void SocketFile::unlock() {
  if (locked_) flock(turn_.get(), LOCK_UN);
  locked_ = false;
}

SocketFile::~SocketFile() {
  if (!folder_) return;
  remove();
  if (locked_) unlinkat(folder_.get(), private_name_.c_str(), 0);
  unlock();
}

}  // namespace urnic::drivers
