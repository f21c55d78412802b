// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/udp/udp_probe.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "drivers/udp/socket.h"

namespace urnic::drivers {
namespace {

/// Only these are about the host, and not about this process.
int error_about_host(int code) {
  return code == EHOSTUNREACH || code == ENETUNREACH || code == ECONNREFUSED ? code : 0;
}

int take_error(int fd) {
  int code = 0;
  socklen_t bytes = sizeof code;
  const bool has_any = syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &code, &bytes) == 0;
  return has_any ? error_about_host(code) : 0;
}

/// Whether the datagram is still with the kernel: it waits for the MAC of the next hop.
bool is_unsent(int fd) {
  int bytes = 0;
  return syscall(SYS_ioctl, fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

}  // namespace

std::unique_ptr<nic::HostProbe> UdpProbe::send(const nic::Way& way, std::uint16_t port) {
  auto socket = open_udp_socket(way.source, /*port=*/0, way.scope);
  if (!socket) return nullptr;
  const int fd = socket.value().get();
  const bool is_ipv4 = way.source.is_ipv4_mapped();
  const SocketAddress to(way.destination, port, way.scope);
  // Without the option the kernel says nothing of a host that does not answer ARP.
  const bool is_ready =
      sys_setsockopt(fd, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, is_ipv4 ? IP_RECVERR : IPV6_RECVERR, 1) &&
      syscall(SYS_connect, fd, to.get(), to.bytes()) == 0;
  if (!is_ready) return nullptr;
  mmsghdr nothing{};
  const int error = sys_sendmmsg(fd, &nothing, 1) < 0 ? error_about_host(errno) : 0;
  return std::unique_ptr<nic::HostProbe>(new UdpProbe(std::move(socket.value()), error));
}

nic::HostProbe::Seen UdpProbe::look() {
  if (error_ == 0) error_ = take_error(socket_.get());
  if (error_ != 0) return {.error = error_};
  // When the kernel gives a next hop up it drops what waits, and tells the socket a moment later: that takes
  // one look more.
  const bool waits = is_unsent(socket_.get());
  const bool has_waited = std::exchange(has_waited_, waits);
  return {.is_found = !waits && !has_waited};
}

}  // namespace urnic::drivers
