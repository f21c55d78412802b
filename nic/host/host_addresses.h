// Which addresses of the host a NIC has that shares them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic/config.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// Addresses of one network interface.
struct HostAddresses {
  std::string interface;
  unsigned index = 0;     ///< of the interface
  std::uint16_t mtu = 0;  ///< its MTU, bytes of an IP packet; 65535 where it is larger
  std::optional<Ipv4Interface> ipv4;
  std::optional<Ipv6Interface> ipv6;
  std::optional<transport::wire::Ipv6Address> link_local;

  /// All of them.
  std::vector<transport::wire::Gid> gids() const;
};

/// What `address`, an IPv4 or IPv6 address of this host, belongs to, with that address alone. Empty: the interface
/// that the host's default route leads to, or else the first one that is up, or else the loopback; with all its
/// addresses. EADDRNOTAVAIL: the host has no such address; otherwise the system's error. Waits up to two seconds for
/// an interface that has just come up, whose IPv6 addresses are still being asked for.
Result<HostAddresses, Error> find_host_addresses(std::string_view address);

}  // namespace urnic::nic
