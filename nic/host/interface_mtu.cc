// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/interface_mtu.h"

#include <fmt/core.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

namespace urnic::nic {

namespace {

/// What the kernel answers; its errno value, or 0. By system calls: librspreload replaces the C library's
/// functions.
int ask(const std::string& interface, unsigned long what, ifreq& request) {
  interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
  const long fd = syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int code = syscall(SYS_ioctl, fd, what, &request) == 0 ? 0 : errno;
  syscall(SYS_close, fd);
  return code;
}

}  // namespace

Result<std::uint16_t, Error> interface_mtu(const std::string& interface) {
  ifreq request{};
  if (const int code = ask(interface, SIOCGIFMTU, request); code != 0) {
    return Error{
        .code = code,
        .message = fmt::format("interface {}: {}{}", interface, std::generic_category().message(code),
                               code == ENODEV ? "; 'ip link' lists what this host has" : "")};
  }
  return static_cast<std::uint16_t>(
      std::clamp<int>(request.ifr_mtu, 0, std::numeric_limits<std::uint16_t>::max()));
}

bool interface_is_running(const std::string& interface) {
  ifreq request{};
  constexpr unsigned kUpWithCarrier = IFF_UP | IFF_RUNNING;
  return ask(interface, SIOCGIFFLAGS, request) == 0 &&
         (static_cast<unsigned>(request.ifr_flags) & kUpWithCarrier) == kUpWithCarrier;
}

}  // namespace urnic::nic
