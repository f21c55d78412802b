// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// System calls on descriptors of sockets. The C library's functions of the same name are not for us: the
// library that is preloaded stands in front of them, and so may librspreload.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace urnic::netlink::system_call {

inline int socket(int family, int type, int protocol) {
  return static_cast<int>(syscall(SYS_socket, family, type, protocol));
}
inline int close(int fd) {
  return static_cast<int>(syscall(SYS_close, fd));
}
inline int bind(int fd, const sockaddr* address, socklen_t size) {
  return static_cast<int>(syscall(SYS_bind, fd, address, size));
}
inline int connect(int fd, const sockaddr* address, socklen_t size) {
  return static_cast<int>(syscall(SYS_connect, fd, address, size));
}
inline int name_of(int fd, sockaddr* address, socklen_t* size) {
  return static_cast<int>(syscall(SYS_getsockname, fd, address, size));
}
inline int set_option(int fd, int level, int name, const void* value, socklen_t size) {
  return static_cast<int>(syscall(SYS_setsockopt, fd, level, name, value, size));
}
inline int get_option(int fd, int level, int name, void* value, socklen_t* size) {
  return static_cast<int>(syscall(SYS_getsockopt, fd, level, name, value, size));
}
inline ssize_t send_to(int fd, const void* bytes, std::size_t size, int flags, const sockaddr* to,
                       socklen_t to_size) {
  return syscall(SYS_sendto, fd, bytes, size, flags, to, to_size);
}
inline ssize_t receive(int fd, msghdr* message, int flags) {
  return syscall(SYS_recvmsg, fd, message, flags);
}

}  // namespace urnic::netlink::system_call
