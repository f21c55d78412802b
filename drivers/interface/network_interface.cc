// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/interface/network_interface.h"

#include <fmt/core.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace urnic::drivers {

namespace {

// Most virtual interfaces do not tell, and have one.
int receive_queues_of(int socket, ifreq request) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  request.ifr_data = reinterpret_cast<char*>(&channels);
  if (ioctl(socket, SIOCETHTOOL, &request) != 0) return 1;
  return std::max(1, static_cast<int>(channels.rx_count + channels.combined_count));
}

}  // namespace

Error interface_error(int code, const std::string& interface, const std::string& reason) {
  return Error{code, fmt::format("network interface {}: {}", interface, reason)};
}

Result<NetworkInterface, Error> find_interface(const std::string& name) {
  if (name.empty() || name.size() >= IFNAMSIZ) {
    return interface_error(EINVAL, name, fmt::format("a name has 1 to {} bytes", IFNAMSIZ - 1));
  }
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  NetworkInterface found;
  if (ioctl(any.get(), SIOCGIFINDEX, &request) != 0) {
    return interface_error(errno, name, std::strerror(errno));
  }
  found.index = request.ifr_ifindex;
  if (ioctl(any.get(), SIOCGIFMTU, &request) != 0) return interface_error(errno, name, std::strerror(errno));
  found.mtu = request.ifr_mtu;
  if (ioctl(any.get(), SIOCGIFFLAGS, &request) != 0) {
    return interface_error(errno, name, std::strerror(errno));
  }
  found.is_up = (request.ifr_flags & IFF_UP) != 0;
  found.receive_queues = receive_queues_of(any.get(), request);
  return found;
}

Result<Descriptor, Error> hear_everything(const std::string& name, const NetworkInterface& interface,
                                          const char* port) {
  // A socket of protocol 0 receives no frames.
  Descriptor ear(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (ear.get() < 0) {
    const int error = errno;
    return interface_error(error, name,
                           error == EPERM ? fmt::format("{} needs the capability CAP_NET_RAW (or root)", port)
                                          : std::strerror(error));
  }
  packet_mreq membership{};
  membership.mr_ifindex = interface.index;
  membership.mr_type = PACKET_MR_PROMISC;
  if (setsockopt(ear.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership, sizeof(membership)) != 0) {
    return interface_error(errno, name, fmt::format("cannot hear all frames: {}", std::strerror(errno)));
  }
  return ear;
}

}  // namespace urnic::drivers
