// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/rdma_cm/types.h"

#include <algorithm>

namespace urnic::nic::rdma_cm {

using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;

SocketAddress SocketAddress::normalized() const {
  if (!is_ipv4()) return *this;
  return {.family = Family::kIpv4, .address = address, .port = port};
}

bool SocketAddress::is_any() const {
  return is_ipv4() ? address.ipv4().is_unspecified() : address.is_unspecified();
}

bool SocketAddress::is_loopback() const {
  constexpr std::uint8_t kLoopbackNetwork = 127;
  if (is_ipv4()) return address.ipv4().octets[0] == kLoopbackNetwork;
  constexpr Ipv6Address kLoopback{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  return address == kLoopback;
}

std::string to_string(const SocketAddress& address) {
  switch (address.family) {
    case SocketAddress::Family::kNone:
      break;
    case SocketAddress::Family::kIpv4:
      return to_string(address.address.ipv4()) + ":" + std::to_string(address.port);
    case SocketAddress::Family::kIpv6:
      return "[" + to_string(address.address) + "]:" + std::to_string(address.port);
  }
  return "";
}

}  // namespace urnic::nic::rdma_cm
