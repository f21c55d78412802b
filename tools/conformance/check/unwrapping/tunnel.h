// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Tunnels and mirrors: what is written around a frame, one row of a table each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/conformance/check/packets/byte_view.h"
#include "tools/conformance/check/unwrapping/layers.h"

namespace urnic::check {

/// What a frame was wrapped in.
enum class Wrapping : std::uint8_t {
  kMpls,
  kGre,
  kErspan1,
  kErspan2,
  kErspan3,
  kVxlan,
  kGeneve,
  kIpInIp,
};
inline constexpr std::size_t kWrappings = 8;
const char* to_string(Wrapping wrapping);
/// Whether it has frames of another link, as a mirror port saw them.
bool is_mirror(Wrapping wrapping);

/// What keeps a frame from being looked into.
enum class Obstacle : std::uint8_t {
  kNone,
  kLinkType,      ///< the link type of its interface cannot be read
  kInfiniBand,    ///< a packet of InfiniBand itself: LRH, no Ethernet
  kCutTunnel,     ///< the capture ends inside a tunnel's header
  kOddTunnel,     ///< a tunnel's header is of an unknown version, or what is in it is no IP and no Ethernet
  kTooDeep,       ///< more tunnels in each other than are looked into
  kEncrypted,     ///< IPsec
  kFragmentLost,  ///< a fragment that was cut, or whose lengths make no sense
};
inline constexpr std::size_t kObstacles = 8;
/// In words, after a number of frames.
const char* to_string(Obstacle obstacle);

/// The names that EtherType has for Ethernet in a tunnel, and for MPLS.
inline constexpr std::uint16_t kEtherEthernet = 0x6558;
inline constexpr std::uint16_t kEtherMpls = 0x8847;
inline constexpr std::uint16_t kEtherMplsUpstream = 0x8848;

/// By what a tunnel is known.
enum class Carrier : std::uint8_t { kEtherType, kIpProtocol, kUdpPort };

/// What is in a tunnel.
struct Opened {
  Obstacle obstacle = Obstacle::kNone;
  Wrapping wrapping{};
  std::uint16_t ether_type = 0;  ///< of the content; kEtherEthernet: a whole frame
  std::size_t header_bytes = 0;  ///< of the tunnel; the content follows
};

/// Opens the tunnel whose header begins at `at` in `bytes`, and adds its headers to `layers`.
using Opener = Opened (*)(ByteView bytes, std::size_t at, Layers& layers);

struct Tunnel {
  Carrier carrier;
  std::uint16_t number;
  Opener open;
};
/// The tunnel that this number announces, or null.
const Tunnel* tunnel_of(Carrier carrier, std::uint16_t number);

}  // namespace urnic::check
