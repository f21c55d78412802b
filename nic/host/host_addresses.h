// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which addresses of the host a NIC has that shares them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic/config.h"
#include "nic/host/interfaces.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::nic {

struct HostAddresses {
  std::vector<HostAddress> all;       ///< the first one's interface comes before the others
  std::string interface;              ///< of the first one
  std::optional<Ipv4Interface> ipv4;  ///< the first of that interface
  std::optional<Ipv6Interface> ipv6;  ///< the same, but no link-local one
  /// Bytes of an IP packet that the first interface carries, and each other one that has a default route;
  /// 65535 where it is more. What the rest carries counts on the ways through them only.
  std::uint16_t mtu = 0;

  std::vector<transport::wire::Gid> gids() const;
};

/// Whether to wait for addresses of which the kernel still asks whether another host has them.
enum class AddressWait : std::uint8_t {
  kNone,
  /// 2.5 seconds at most, and only where the answer can come: on interfaces with a carrier.
  kUntilReady,
};

/// What `address`, an IPv4 or IPv6 address of this host, belongs to, with that address alone. Empty: the
/// interface that the host's default route leads to, or else the first one that is up, or else the loopback;
/// with all its addresses that are ready. EADDRNOTAVAIL: the host has no such address; otherwise the system's
/// error.
Result<HostAddresses, Error> find_host_addresses(std::string_view address, AddressWait wait);
/// The ready addresses of all interfaces that are up, as arrange() orders them. Errors as there.
Result<HostAddresses, Error> find_all_host_addresses(AddressWait wait);
/// The same, with the addresses of each interface by themselves, in that order. An interface that has a
/// link-local address alone, and the loopback, count only where the host has no other.
Result<std::vector<HostAddresses>, Error> find_addresses_of_each_interface(AddressWait wait);

/// The index of the interface that has the address; 0: none has it, or the kernel does not say. Waits for
/// nothing.
unsigned interface_index_of(const transport::wire::Gid& address);

/// What a NIC that began with arrange() has later: the same, and after them the addresses of interfaces that
/// are down, which come back with those.
std::vector<HostAddress> addresses_there(const HostInterfaces& host);
/// Of those, what is on one interface.
std::vector<HostAddress> addresses_on(const HostInterfaces& host, const std::string& interface);
/// Whether that interface has a carrier.
bool has_carrier(const HostInterfaces& host, const std::string& interface);

/// First the addresses of the interface that the default route takes, which exists in IPv4 or in IPv6; then
/// of interfaces that have another default route; of the others; of the loopback; last of interfaces that
/// have a link-local address alone, as each of a hundred containers may have one. An interface without a
/// carrier is not the first one while there is another. Addresses that are not ready are left out. Nothing
/// when there is none.
std::optional<HostAddresses> arrange(const HostInterfaces& host);

}  // namespace urnic::nic
