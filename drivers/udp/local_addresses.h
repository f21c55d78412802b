// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LocalAddresses: the addresses of this host that a port has, and where they are.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "nic/config.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

class LocalAddresses {
 public:
  explicit LocalAddresses(std::vector<nic::HostAddress> all) : all_(std::move(all)) {}

  const std::vector<nic::HostAddress>& all() const { return all_; }
  /// The index of the network interface that has it; 0, which stands for any, where none does.
  unsigned interface_of(const transport::wire::Gid& address) const {
    const auto found = std::ranges::find(all_, address, &nic::HostAddress::gid);
    return found == all_.end() ? 0 : found->interface_index;
  }
  /// Whether it is one of these, or of the loopback's network.
  bool has(const transport::wire::Gid& address) const {
    if (address.is_ipv4_mapped() && address.ipv4().octets[0] == 127) return true;
    return std::ranges::find(all_, address, &nic::HostAddress::gid) != all_.end();
  }
  /// The first that is of the same kind as `other`, IPv4 or IPv6; null where there is none.
  const nic::HostAddress* first_like(const transport::wire::Gid& other) const {
    const auto found = std::ranges::find_if(all_, [&](const nic::HostAddress& address) {
      return address.gid.is_ipv4_mapped() == other.is_ipv4_mapped();
    });
    return found == all_.end() ? nullptr : &*found;
  }

 private:
  std::vector<nic::HostAddress> all_;
};

}  // namespace urnic::drivers
