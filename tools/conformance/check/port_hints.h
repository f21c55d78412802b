// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which UDP ports carry RoCEv2: the standard's, those that the user names, and those that seem to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tools/conformance/check/packets/frame.h"

namespace urnic::check {

/// Ports beside 4791 whose datagrams are taken for RoCEv2: mirrors write their own.
using UdpPorts = std::vector<std::uint16_t>;

/// Whether a frame is RoCE, of any version.
bool is_roce(const Frame& frame, const UdpPorts& ports);

/// Counts datagrams to other ports that parse as BTH: as a hint, no proof. Bounded: kMostPorts.
class PortHints {
 public:
  static constexpr std::size_t kMostPorts = 1024;

  void add(const Frame& frame);
  /// How many there are, by port.
  const std::map<std::uint16_t, std::uint64_t>& by_port() const { return by_port_; }

 private:
  std::map<std::uint16_t, std::uint64_t> by_port_;
};

}  // namespace urnic::check
