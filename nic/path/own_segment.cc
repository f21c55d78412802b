// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/own_segment.h"

namespace urnic::nic {
namespace {

using transport::wire::Gid;

/// Whether the two addresses agree in their first `bits` bits.
bool agree(const Gid& a, const Gid& b, unsigned bits) {
  for (unsigned i = 0; i < bits; ++i) {
    const unsigned difference = a.octets[i / 8] ^ b.octets[i / 8];
    if ((difference >> (7 - i % 8) & 1u) != 0) return false;
  }
  return true;
}

}  // namespace

bool is_on_own_segment(const DeviceConfig& config, const Gid& address) {
  constexpr unsigned kMappedPrefix = 96;
  if (address.is_ipv4_mapped()) {
    return config.ipv4 &&
           agree(Gid::from_ipv4(config.ipv4->address), address, kMappedPrefix + config.ipv4->prefix_length);
  }
  if (address.is_link_local()) return true;
  return config.ipv6 && agree(config.ipv6->address, address, config.ipv6->prefix_length);
}

}  // namespace urnic::nic
