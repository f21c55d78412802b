// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Medium: what a port carries.
#pragma once

#include <cstdint>

namespace urnic::nic {

enum class Medium : std::uint8_t {
  kEthernet,  ///< frames, from the destination MAC on
  /// IP packets, from the IP header on. The host has the MACs, finds neighbors, joins groups on the link, and
  /// owns the identification of an IPv4 header: packets are made with identification 0, and a port that
  /// cannot keep it so changes the ICRC with it.
  kIp,
};

}  // namespace urnic::nic
