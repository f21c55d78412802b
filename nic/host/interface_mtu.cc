#include "nic/host/interface_mtu.h"

#include <fmt/core.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

namespace urnic::nic {

Result<std::uint16_t, Error> interface_mtu(const std::string& interface) {
  ifreq request{};
  interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool known = fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0;
  const int code = errno;
  if (fd >= 0) close(fd);
  if (!known) {
    return Error{
        .code = code,
        .message = fmt::format("interface {}: {}", interface, std::generic_category().message(code))};
  }
  return static_cast<std::uint16_t>(
      std::clamp<int>(request.ifr_mtu, 0, std::numeric_limits<std::uint16_t>::max()));
}

}  // namespace urnic::nic
