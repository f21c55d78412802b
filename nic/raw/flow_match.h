// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What flow rules see of a frame, and whether it is what they want.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nic/raw/flow_rule.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// The fields of a frame's headers that rules can name. As in hardware, headers are what stands where they
/// belong: lengths and checksums inside are not looked at, but a header that the frame cuts off is not there.
struct FlowHeaders {
  struct Ipv4 {
    transport::wire::Ipv4Address source;
    transport::wire::Ipv4Address destination;
    std::uint8_t protocol;
    std::uint8_t tos;
    std::uint8_t ttl;
    std::uint8_t flags;
  };
  struct Ipv6 {
    transport::wire::Ipv6Address source;
    transport::wire::Ipv6Address destination;
    std::uint32_t flow_label;
    std::uint8_t next_header;
    std::uint8_t traffic_class;
    std::uint8_t hop_limit;
  };
  struct Ports {
    PortProtocol protocol;
    std::uint16_t source;
    std::uint16_t destination;
  };

  bool is_ethernet = false;  ///< otherwise the frame is too short, and nothing else is set
  transport::wire::Mac source{};
  transport::wire::Mac destination{};
  std::uint16_t ether_type = 0;  ///< after VLAN tags
  std::optional<std::uint16_t> vlan_tag{};
  std::optional<Ipv4> ipv4{};
  std::optional<Ipv6> ipv6{};
  /// Directly after the IP header: not in later fragments, and not after IPv6 extension headers.
  std::optional<Ports> ports{};

  /// Takes any frame at all.
  static FlowHeaders read(std::span<const std::byte> frame);
};

/// Whether a frame with these headers is one of those that a normal rule is about.
bool matches(const FlowRule& rule, const FlowHeaders& headers);

}  // namespace urnic::nic
