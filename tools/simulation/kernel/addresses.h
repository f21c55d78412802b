// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Addresses of the hosts of a virtual world, which are counted from 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nic/config.h"
#include "transport/wire/address.h"

namespace urnic::kernel {

/// 02:00:00:00:00:01 for the first.
constexpr transport::wire::Mac mac_of(std::size_t host) {
  return {{0x02, 0, 0, 0, static_cast<std::uint8_t>((host + 1) >> 8), static_cast<std::uint8_t>(host + 1)}};
}
/// 10.0.0.1 for the first.
constexpr transport::wire::Ipv4Address ipv4_of(std::size_t host) {
  return {{10, 0, static_cast<std::uint8_t>((host + 1) >> 8), static_cast<std::uint8_t>(host + 1)}};
}
/// fd00::1 for the first.
constexpr transport::wire::Ipv6Address ipv6_of(std::size_t host) {
  transport::wire::Ipv6Address address{{0xfd}};
  address.octets[14] = static_cast<std::uint8_t>((host + 1) >> 8);
  address.octets[15] = static_cast<std::uint8_t>(host + 1);
  return address;
}

/// A device with that MAC and IPv4 address, which does something only when its world lets it.
inline nic::DeviceConfig config_of(std::size_t host) {
  nic::DeviceConfig config;
  config.mac = mac_of(host);
  config.ipv4 = nic::Ipv4Interface{.address = ipv4_of(host)};
  config.progress = nic::ProgressMode::kManual;
  return config;
}

}  // namespace urnic::kernel
