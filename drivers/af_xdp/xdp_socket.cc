// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/af_xdp/xdp_socket.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace urnic::drivers {

namespace {

Error socket_error(const std::string& interface, int code) {
  switch (code) {
    case EAFNOSUPPORT:
      return interface_error(code, interface,
                             "this kernel has no AF_XDP sockets (CONFIG_XDP_SOCKETS); use af_packet");
    case EPERM:
      return interface_error(code, interface, "af_xdp needs the capability CAP_NET_RAW (or root)");
    default:
      return interface_error(code, interface,
                             fmt::format("cannot make an AF_XDP socket: {}", std::strerror(code)));
  }
}

/// Of the memory for frames, which stays where it is.
Error memory_error(const std::string& interface, std::size_t bytes, int code) {
  if (code == ENOBUFS || code == EPERM || code == ENOMEM) {
    return interface_error(
        code, interface,
        fmt::format("the kernel does not lock {} KiB for frames; allow more (ulimit -l)", bytes / 1024));
  }
  return interface_error(code, interface,
                         fmt::format("the kernel does not take memory for frames: {}", std::strerror(code)));
}

Error bind_error(const std::string& interface, int code) {
  if (code == EBUSY) {
    return interface_error(code, interface,
                           "another AF_XDP socket has its first queue, perhaps another NIC's; end that "
                           "program, or use af_packet");
  }
  return interface_error(
      code, interface,
      fmt::format("cannot bind an AF_XDP socket to its first queue: {}", std::strerror(code)));
}

bool set_option(int socket, int name, std::uint32_t value) {
  return setsockopt(socket, SOL_XDP, name, &value, sizeof value) == 0;
}

/// How many bytes may wait in the interface's queue. Of the usual limit a frame takes more than its share, as
/// it is counted with what the kernel adds to it.
void widen_send_buffer(int socket) {
  constexpr int kBytes = 4 << 20;
  // Fails without CAP_NET_ADMIN, without which there is no XDP program either.
  setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &kBytes, sizeof kBytes);
}

bool size_rings(int socket) {
  return set_option(socket, XDP_UMEM_FILL_RING, XdpSocket::kReceiveEntries) &&
         set_option(socket, XDP_UMEM_COMPLETION_RING, XdpSocket::kTransmitEntries) &&
         set_option(socket, XDP_RX_RING, XdpSocket::kReceiveEntries) &&
         set_option(socket, XDP_TX_RING, XdpSocket::kTransmitEntries);
}

/// Linux takes a queue back some time after the socket that had it is closed (seen on 6.18), so that a NIC
/// which is opened right after another one was closed must wait for it. An errno value.
int bind_patiently(int socket, const sockaddr_xdp& address) {
  constexpr int kTries = 100;
  constexpr std::chrono::milliseconds kPause(10);
  for (int tries = 1;; ++tries) {
    if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return 0;
    const int code = errno;
    if (code != EBUSY || tries == kTries) return code;
    std::this_thread::sleep_for(kPause);
  }
}

bool map_rings(XdpSocket& made) {
  const int socket = made.socket.get();
  xdp_mmap_offsets offsets{};
  socklen_t bytes = sizeof offsets;
  if (getsockopt(socket, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &bytes) != 0) return false;
  if (bytes != sizeof offsets) {  // a kernel before 5.4, whose rings have no flags
    errno = EOPNOTSUPP;
    return false;
  }
  made.fill = {socket, offsets.fr, XdpSocket::kReceiveEntries, XDP_UMEM_PGOFF_FILL_RING};
  if (!made.fill.is_mapped()) return false;
  made.received = {socket, offsets.rx, XdpSocket::kReceiveEntries, XDP_PGOFF_RX_RING};
  if (!made.received.is_mapped()) return false;
  made.transmit = {socket, offsets.tx, XdpSocket::kTransmitEntries, XDP_PGOFF_TX_RING};
  if (!made.transmit.is_mapped()) return false;
  made.completion = {socket, offsets.cr, XdpSocket::kTransmitEntries, XDP_UMEM_PGOFF_COMPLETION_RING};
  return made.completion.is_mapped();
}

}  // namespace

// Shared, so that a fork does not copy pages which the kernel writes to; a child has none of it.
Umem::Umem(std::uint32_t frames) {
  const std::size_t bytes = std::size_t{frames} * kFrameBytes;
  void* const start =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (start == MAP_FAILED) return;
  bytes_ = {static_cast<std::byte*>(start), bytes};
  madvise(start, bytes, MADV_DONTFORK);
}

Umem::~Umem() {
  if (is_mapped()) munmap(bytes_.data(), bytes_.size());
}

Result<XdpSocket, Error> XdpSocket::open(const std::string& name, const NetworkInterface& interface,
                                         std::uint32_t frames) {
  XdpSocket made;
  made.socket = Descriptor(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!made.socket) return socket_error(name, errno);
  const int fd = made.socket.get();

  made.umem = Umem(frames);
  if (!made.umem.is_mapped()) return memory_error(name, std::size_t{frames} * Umem::kFrameBytes, errno);
  xdp_umem_reg memory{};
  memory.addr = reinterpret_cast<std::uintptr_t>(made.umem.bytes().data());
  memory.len = made.umem.bytes().size();
  memory.chunk_size = Umem::kFrameBytes;
  if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &memory, sizeof memory) != 0) {
    return memory_error(name, made.umem.bytes().size(), errno);
  }
  widen_send_buffer(fd);
  if (!size_rings(fd) || !map_rings(made)) return socket_error(name, errno);

  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = static_cast<std::uint32_t>(interface.index);
  address.sxdp_queue_id = 0;
  // The mode that every driver has. Without copying, cards differ in when they have to be told of frames.
  address.sxdp_flags = XDP_COPY;
  if (const int code = bind_patiently(fd, address); code != 0) return bind_error(name, code);
  return made;
}

}  // namespace urnic::drivers
