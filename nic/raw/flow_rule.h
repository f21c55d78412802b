// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FlowRule: which received frames a queue pair of raw packets is given.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "transport/wire/address.h"

namespace urnic::nic {

/// Names a rule of the device for as long as it exists; never 0.
enum class FlowId : std::uint32_t {};

/// What a field has to be, as far as the bits of `mask` go. Numbers are in host order, addresses in wire
/// order.
template <typename T>
struct Masked {
  T value{};
  T mask{};
};

struct EthernetMatch {
  Masked<transport::wire::Mac> source{};
  Masked<transport::wire::Mac> destination{};
  Masked<std::uint16_t> ether_type{};  ///< after any VLAN tags
  /// Priority, DEI and id of the outermost tag. With any bit in the mask the frame needs a tag; otherwise it
  /// may have some.
  Masked<std::uint16_t> vlan_tag{};
};

struct Ipv4Match {
  Masked<transport::wire::Ipv4Address> source{};
  Masked<transport::wire::Ipv4Address> destination{};
  Masked<std::uint8_t> protocol{};
  Masked<std::uint8_t> tos{};
  Masked<std::uint8_t> ttl{};
  Masked<std::uint8_t> flags{};  ///< the three in front of the fragment offset: 2 is "don't fragment"
};

struct Ipv6Match {
  Masked<transport::wire::Ipv6Address> source{};
  Masked<transport::wire::Ipv6Address> destination{};
  Masked<std::uint32_t> flow_label{};  ///< 20 bits
  Masked<std::uint8_t> next_header{};  ///< of the fixed header
  Masked<std::uint8_t> traffic_class{};
  Masked<std::uint8_t> hop_limit{};
};

/// The protocols that have ports, by their numbers in IP headers.
enum class PortProtocol : std::uint8_t { kTcp = 6, kUdp = 17 };

struct PortsMatch {
  PortProtocol protocol = PortProtocol::kUdp;
  Masked<std::uint16_t> source{};
  Masked<std::uint16_t> destination{};
};

enum class FlowKind : std::uint8_t {
  kNormal,            ///< frames that match, before any other rule gets them
  kAllDefault,        ///< frames that no rule takes and that are no RoCE, ARP or ND for us
  kMulticastDefault,  ///< such frames to a group
  kSniffer,           ///< a copy of every frame
};

/// What rules that count here have given to their queue pairs. Written under the engine lock, read by any
/// thread.
struct FlowCounts {
  std::atomic<std::uint64_t> packets = 0;
  std::atomic<std::uint64_t> bytes = 0;  ///< of whole frames
};

/// Only normal rules have a priority and match on headers. A header that is named has to be there, with the
/// fields that it says; a rule that names none matches every frame.
struct FlowRule {
  FlowKind kind = FlowKind::kNormal;
  std::uint16_t priority = 0;  ///< the lowest number comes first
  bool traps =
      true;  ///< what matches goes no further: neither to rules that come later nor to RoCE, ARP or ND
  std::optional<EthernetMatch> ethernet{};
  std::optional<Ipv4Match> ipv4{};
  std::optional<Ipv6Match> ipv6{};
  std::optional<PortsMatch> ports{};
  std::shared_ptr<FlowCounts> counts{};  ///< of normal rules; null: not counted
};

}  // namespace urnic::nic
