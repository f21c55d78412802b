// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What liburnic_paths.so calls (tools/runtime/paths/rdma_netlink.cc), by these names.
#include <pthread.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <new>

#include "tools/runtime/netlink/sockets.h"

namespace {

using urnic::netlink::Sockets;

/// Never destroyed: whatever runs last in the process may have a socket.
Sockets* sockets = nullptr;

template <typename Call>
auto or_no_memory(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return -1;
  }
}

}  // namespace

#define EXPORT extern "C" [[gnu::visibility("default")]]

/// Once, before the others. 0, or -1 and errno.
EXPORT int urnic_netlink_start(const char* folder, dev_t rdma_cm) {
  return or_no_memory([&] {
    sockets = new Sockets(folder, rdma_cm);
    pthread_atfork([] { sockets->lock(); }, [] { sockets->unlock(); },
                   [] {
                     sockets->become_child();
                     sockets->unlock();
                   });
    return 0;
  });
}
EXPORT int urnic_netlink_socket(int type) {
  return or_no_memory([&] { return sockets->open(type); });
}
EXPORT int urnic_netlink_owns(int fd) {
  return sockets->owns(fd) ? 1 : 0;
}
EXPORT ssize_t urnic_netlink_send(int fd, const msghdr* message, int flags) {
  return or_no_memory([&] { return sockets->send(fd, *message, flags); });
}
EXPORT ssize_t urnic_netlink_receive(int fd, msghdr* message, int flags) {
  return or_no_memory([&] { return sockets->receive(fd, *message, flags); });
}
EXPORT int urnic_netlink_bind(int fd, const sockaddr* address, socklen_t size) {
  return sockets->bind(fd, address, size);
}
EXPORT int urnic_netlink_connect(int fd, const sockaddr* address, socklen_t size) {
  return sockets->connect(fd, address, size);
}
EXPORT int urnic_netlink_set_option(int fd, int level, int name, const void* value, socklen_t size) {
  return sockets->set_option(fd, level, name, value, size);
}
EXPORT int urnic_netlink_get_option(int fd, int level, int name, void* value, socklen_t* size) {
  return sockets->get_option(fd, level, name, value, size);
}
EXPORT void urnic_netlink_close(int fd) {
  sockets->before_close(fd);
}
