// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the kernel says of the host's network interfaces and their addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// One address of an interface.
struct InterfaceAddress {
  enum class State : std::uint8_t {
    kReady,
    kTentative,  ///< the kernel still asks whether another host has it; no program can send from it yet
    kFailed,     ///< another host has it
  };

  std::string interface;
  unsigned interface_index = 0;
  transport::wire::Gid gid;
  std::uint8_t prefix_length = 0;  ///< of an IPv4 address in bits of that
  std::uint16_t mtu = 0;  ///< of the interface: bytes of the largest IP packet; 65535 where it is more
  bool is_on_loopback = false;
  bool is_up = false;
  bool is_running = false;  ///< the interface has a carrier: without one a tentative address stays so
  State state = State::kReady;
  transport::wire::Mac mac{};  ///< of the interface; zero where it has none
};

struct HostInterfaces {
  std::vector<InterfaceAddress> addresses;      ///< in the kernel's order
  std::vector<std::string> with_default_route;  ///< interfaces that a default route leads through
  std::string usual;  ///< the interface that the host's default route takes; empty: it has none
};

/// Of this process's network namespace. Waits for nothing. The error is the system's.
Result<HostInterfaces, Error> read_host_interfaces();

/// The states of IPv6 addresses, which /proc/net/if_inet6 has.
struct AddressState {
  std::string interface;
  transport::wire::Gid gid;
  InterfaceAddress::State state{};
};
std::vector<AddressState> address_states_of(const std::string& if_inet6);
/// The interfaces of default routes, which /proc/net/route and /proc/net/ipv6_route have.
std::vector<std::string> default_routes_of(const std::string& route, const std::string& ipv6_route);

}  // namespace urnic::nic
