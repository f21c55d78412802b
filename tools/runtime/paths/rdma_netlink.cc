// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Programs ask the kernel by sockets of netlink which RDMA devices there are and what they are used for:
// iproute2's `rdma`, rdma-core's discovery, monitors. A program that opens such a socket gets one that
// liburnic_netlink.so answers; it is opened then, and in no other program.
//
// All that a program sends and receives goes through these functions. Until it has such a socket they cost
// one look at a pointer; for other descriptors they are as safe in signal handlers as the C library's
// functions.
#include "tools/runtime/paths/rdma_netlink.h"

#include <dlfcn.h>
#include <limits.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/runtime/paths/next_function.h"
#include "tools/runtime/paths/private_folder.h"
#include "tools/runtime/paths/rdma_cm_node.h"

namespace urnic::paths {
namespace {

// --- The library's side (tools/runtime/netlink/entry_points.cc) ---

struct Netlink {
  int (*start)(const char* folder, dev_t rdma_cm);
  int (*socket)(int type);
  int (*owns)(int fd);
  ssize_t (*send)(int fd, const msghdr* message, int flags);
  ssize_t (*receive)(int fd, msghdr* message, int flags);
  int (*bind)(int fd, const sockaddr* address, socklen_t size);
  int (*connect)(int fd, const sockaddr* address, socklen_t size);
  int (*set_option)(int fd, int level, int name, const void* value, socklen_t size);
  int (*get_option)(int fd, int level, int name, void* value, socklen_t* size);
  void (*close)(int fd);
};

/// Null until the program opens such a socket.
std::atomic<const Netlink*> netlink{nullptr};

/// It stands beside this one. Null when it is not there, or does not start.
const Netlink* load_netlink() {
  static Netlink functions;
  static const bool is_there = [] {
    Dl_info own{};
    char path[PATH_MAX];
    if (dladdr(reinterpret_cast<void*>(&load_netlink), &own) == 0 || own.dli_fname == nullptr) return false;
    const char* const end = strrchr(own.dli_fname, '/');
    const int folder_length = end != nullptr ? static_cast<int>(end + 1 - own.dli_fname) : 0;
    const int written = snprintf(path, sizeof(path), "%.*sliburnic_netlink.so", folder_length, own.dli_fname);
    if (written <= 0 || static_cast<size_t>(written) >= sizeof(path)) return false;
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && find(library, "urnic_netlink_start", functions.start) &&
           find(library, "urnic_netlink_socket", functions.socket) &&
           find(library, "urnic_netlink_owns", functions.owns) &&
           find(library, "urnic_netlink_send", functions.send) &&
           find(library, "urnic_netlink_receive", functions.receive) &&
           find(library, "urnic_netlink_bind", functions.bind) &&
           find(library, "urnic_netlink_connect", functions.connect) &&
           find(library, "urnic_netlink_set_option", functions.set_option) &&
           find(library, "urnic_netlink_get_option", functions.get_option) &&
           find(library, "urnic_netlink_close", functions.close) &&
           functions.start(private_folder(), rdma_cm_device()) == 0;
  }();
  return is_there ? &functions : nullptr;
}

/// What answers the descriptor; null: nothing of ours.
const Netlink* owner_of(int descriptor) {
  const Netlink* const functions = netlink.load(std::memory_order_acquire);
  return functions != nullptr && functions->owns(descriptor) != 0 ? functions : nullptr;
}

// --- The C library's ---

struct CLibrary {
  int (*socket)(int, int, int);
  int (*bind)(int, const sockaddr*, socklen_t);
  int (*connect)(int, const sockaddr*, socklen_t);
  int (*setsockopt)(int, int, int, const void*, socklen_t);
  int (*getsockopt)(int, int, int, void*, socklen_t*);
  ssize_t (*send)(int, const void*, size_t, int);
  ssize_t (*sendto)(int, const void*, size_t, int, const sockaddr*, socklen_t);
  ssize_t (*sendmsg)(int, const msghdr*, int);
  int (*sendmmsg)(int, mmsghdr*, unsigned, int);
  ssize_t (*writev)(int, const iovec*, int);
  ssize_t (*recv)(int, void*, size_t, int);
  ssize_t (*recvfrom)(int, void*, size_t, int, sockaddr*, socklen_t*);
  ssize_t (*recvmsg)(int, msghdr*, int);
  int (*recvmmsg)(int, mmsghdr*, unsigned, int, timespec*);
  ssize_t (*recv_chk)(int, void*, size_t, size_t, int);
  ssize_t (*recvfrom_chk)(int, void*, size_t, size_t, int, sockaddr*, socklen_t*);
  ssize_t (*read)(int, void*, size_t);
  ssize_t (*read_chk)(int, void*, size_t, size_t);
  ssize_t (*readv)(int, const iovec*, int);
};

CLibrary c_functions;

template <typename Function>
void look_up(Function*& function, const char* name) {
  function = next<Function>(name);
}

/// When the library is loaded: not in a signal handler.
[[gnu::constructor(101)]] void look_up_c_functions() {
  look_up(c_functions.socket, "socket");
  look_up(c_functions.bind, "bind");
  look_up(c_functions.connect, "connect");
  look_up(c_functions.setsockopt, "setsockopt");
  look_up(c_functions.getsockopt, "getsockopt");
  look_up(c_functions.send, "send");
  look_up(c_functions.sendto, "sendto");
  look_up(c_functions.sendmsg, "sendmsg");
  look_up(c_functions.sendmmsg, "sendmmsg");
  look_up(c_functions.writev, "writev");
  look_up(c_functions.recv, "recv");
  look_up(c_functions.recvfrom, "recvfrom");
  look_up(c_functions.recvmsg, "recvmsg");
  look_up(c_functions.recvmmsg, "recvmmsg");
  look_up(c_functions.recv_chk, "__recv_chk");
  look_up(c_functions.recvfrom_chk, "__recvfrom_chk");
  look_up(c_functions.read_chk, "__read_chk");
  look_up(c_functions.readv, "readv");
  look_up(c_functions.read, "read");  // the last one: it tells whether all are there
}

const CLibrary& c_library() {
  // What the constructors of other libraries call may come before ours.
  if (c_functions.read == nullptr) look_up_c_functions();
  return c_functions;
}

// --- Messages out of the arguments of simpler functions ---

struct Message {
  iovec part;
  msghdr head{};

  Message(const void* bytes, size_t size) : part{const_cast<void*>(bytes), size} {
    head.msg_iov = &part;
    head.msg_iovlen = 1;
  }
  Message(const iovec* parts, int count) : part{} {
    head.msg_iov = const_cast<iovec*>(parts);
    head.msg_iovlen = static_cast<size_t>(count);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

ssize_t send_to(const Netlink& owner, int descriptor, const void* bytes, size_t size, int flags,
                const sockaddr* to, socklen_t to_size) {
  Message message(bytes, size);
  message.head.msg_name = const_cast<sockaddr*>(to);
  message.head.msg_namelen = to != nullptr ? to_size : 0;
  return owner.send(descriptor, &message.head, flags);
}

ssize_t receive_from(const Netlink& owner, int descriptor, void* bytes, size_t size, int flags,
                     sockaddr* from, socklen_t* from_size) {
  Message message(bytes, size);
  message.head.msg_name = from;
  message.head.msg_namelen = from != nullptr && from_size != nullptr ? *from_size : 0;
  const ssize_t received = owner.receive(descriptor, &message.head, flags);
  if (received >= 0 && from != nullptr && from_size != nullptr) *from_size = message.head.msg_namelen;
  return received;
}

ssize_t receive(const Netlink& owner, int descriptor, const iovec* parts, int count) {
  Message message(parts, count);
  return owner.receive(descriptor, &message.head, 0);
}

/// What the C library does with a buffer that it knows to be too small. Those who were checked once may
/// receive without.
size_t checked(size_t size, size_t room) {
  if (size > room) __builtin_trap();
  return size;
}

}  // namespace

bool write_rdma_netlink(int descriptor, const void* bytes, size_t size, ssize_t& written) {
  const Netlink* const owner = owner_of(descriptor);
  if (owner == nullptr) return false;
  written = send_to(*owner, descriptor, bytes, size, 0, nullptr, 0);
  return true;
}

void close_rdma_netlink(int descriptor) {
  if (const Netlink* const functions = netlink.load(std::memory_order_acquire); functions != nullptr) {
    functions->close(descriptor);
  }
}

}  // namespace urnic::paths

using urnic::paths::c_library;
using urnic::paths::checked;
using urnic::paths::load_netlink;
using urnic::paths::Message;
using urnic::paths::netlink;
using urnic::paths::Netlink;
using urnic::paths::owner_of;
using urnic::paths::private_folder;
using urnic::paths::receive;
using urnic::paths::receive_from;
using urnic::paths::send_to;

EXPORT int socket(int family, int type, int protocol) {
  const bool is_rdma = family == AF_NETLINK && protocol == NETLINK_RDMA && private_folder() != nullptr;
  const Netlink* const functions = is_rdma ? load_netlink() : nullptr;
  if (functions == nullptr) return c_library().socket(family, type, protocol);
  netlink.store(functions, std::memory_order_release);
  return functions->socket(type);
}

EXPORT int bind(int descriptor, const sockaddr* address, socklen_t size) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? owner->bind(descriptor, address, size)
                          : c_library().bind(descriptor, address, size);
}
EXPORT int connect(int descriptor, const sockaddr* address, socklen_t size) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? owner->connect(descriptor, address, size)
                          : c_library().connect(descriptor, address, size);
}
EXPORT int setsockopt(int descriptor, int level, int name, const void* value, socklen_t size) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? owner->set_option(descriptor, level, name, value, size)
                          : c_library().setsockopt(descriptor, level, name, value, size);
}
EXPORT int getsockopt(int descriptor, int level, int name, void* value, socklen_t* size) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? owner->get_option(descriptor, level, name, value, size)
                          : c_library().getsockopt(descriptor, level, name, value, size);
}

// --- Sending ---

EXPORT ssize_t send(int descriptor, const void* bytes, size_t size, int flags) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? send_to(*owner, descriptor, bytes, size, flags, nullptr, 0)
                          : c_library().send(descriptor, bytes, size, flags);
}
EXPORT ssize_t sendto(int descriptor, const void* bytes, size_t size, int flags, const sockaddr* to,
                      socklen_t to_size) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? send_to(*owner, descriptor, bytes, size, flags, to, to_size)
                          : c_library().sendto(descriptor, bytes, size, flags, to, to_size);
}
EXPORT ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? owner->send(descriptor, message, flags)
                          : c_library().sendmsg(descriptor, message, flags);
}
EXPORT int sendmmsg(int descriptor, mmsghdr* messages, unsigned count, int flags) {
  const Netlink* const owner = owner_of(descriptor);
  if (owner == nullptr) return c_library().sendmmsg(descriptor, messages, count, flags);
  for (unsigned i = 0; i < count; ++i) {
    const ssize_t sent = owner->send(descriptor, &messages[i].msg_hdr, flags);
    if (sent < 0) return i > 0 ? static_cast<int>(i) : -1;
    messages[i].msg_len = static_cast<unsigned>(sent);
  }
  return static_cast<int>(count);
}
EXPORT ssize_t writev(int descriptor, const iovec* parts, int count) {
  const Netlink* const owner = owner_of(descriptor);
  if (owner == nullptr) return c_library().writev(descriptor, parts, count);
  const Message message(parts, count);
  return owner->send(descriptor, &message.head, 0);
}

// --- Receiving ---

EXPORT ssize_t recv(int descriptor, void* bytes, size_t size, int flags) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? receive_from(*owner, descriptor, bytes, size, flags, nullptr, nullptr)
                          : c_library().recv(descriptor, bytes, size, flags);
}
EXPORT ssize_t recvfrom(int descriptor, void* bytes, size_t size, int flags, sockaddr* from,
                        socklen_t* from_size) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? receive_from(*owner, descriptor, bytes, size, flags, from, from_size)
                          : c_library().recvfrom(descriptor, bytes, size, flags, from, from_size);
}
EXPORT ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? owner->receive(descriptor, message, flags)
                          : c_library().recvmsg(descriptor, message, flags);
}
/// One message at a time, which callers have to expect.
EXPORT int recvmmsg(int descriptor, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  const Netlink* const owner = owner_of(descriptor);
  if (owner == nullptr) return c_library().recvmmsg(descriptor, messages, count, flags, timeout);
  if (count == 0) return 0;
  const ssize_t received = owner->receive(descriptor, &messages[0].msg_hdr, flags & ~MSG_WAITFORONE);
  if (received < 0) return -1;
  messages[0].msg_len = static_cast<unsigned>(received);
  return 1;
}
EXPORT ssize_t read(int descriptor, void* bytes, size_t size) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? receive_from(*owner, descriptor, bytes, size, 0, nullptr, nullptr)
                          : c_library().read(descriptor, bytes, size);
}
EXPORT ssize_t readv(int descriptor, const iovec* parts, int count) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? receive(*owner, descriptor, parts, count)
                          : c_library().readv(descriptor, parts, count);
}
// What these become in programs that are compiled with _FORTIFY_SOURCE.
EXPORT ssize_t __recv_chk(int descriptor, void* bytes, size_t size, size_t room, int flags) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr
             ? receive_from(*owner, descriptor, bytes, checked(size, room), flags, nullptr, nullptr)
             : c_library().recv_chk(descriptor, bytes, size, room, flags);
}
EXPORT ssize_t __recvfrom_chk(int descriptor, void* bytes, size_t size, size_t room, int flags,
                              sockaddr* from, socklen_t* from_size) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr
             ? receive_from(*owner, descriptor, bytes, checked(size, room), flags, from, from_size)
             : c_library().recvfrom_chk(descriptor, bytes, size, room, flags, from, from_size);
}
EXPORT ssize_t __read_chk(int descriptor, void* bytes, size_t size, size_t room) {
  const Netlink* const owner = owner_of(descriptor);
  return owner != nullptr ? receive_from(*owner, descriptor, bytes, checked(size, room), 0, nullptr, nullptr)
                          : c_library().read_chk(descriptor, bytes, size, room);
}
