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

struct HostAddresses {
  std::vector<HostAddress> all;       ///< those of the first one's interface before the others
  std::string interface;              ///< of the first one
  std::optional<Ipv4Interface> ipv4;  ///< the first of that interface
  std::optional<Ipv6Interface> ipv6;  ///< the same, but no link-local one
  /// Bytes of an IP packet that all their interfaces carry, where the loopback does not count among others; 65535 where
  /// it is more.
  std::uint16_t mtu = 0;

  std::vector<transport::wire::Gid> gids() const;
};

/// What `address`, an IPv4 or IPv6 address of this host, belongs to, with that address alone. Empty: the interface
/// that the host's default route leads to, or else the first one that is up, or else the loopback; with all its
/// addresses. EADDRNOTAVAIL: the host has no such address; otherwise the system's error. Waits up to two seconds for
/// an interface that has just come up, whose IPv6 addresses are still being asked for.
Result<HostAddresses, Error> find_host_addresses(std::string_view address);
/// The addresses of all interfaces that are up, and at the end those of the loopback. The first interface is the one that
/// find_host_addresses() finds for no address; waits and errors as there.
Result<HostAddresses, Error> find_all_host_addresses();

}  // namespace urnic::nic
