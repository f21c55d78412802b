// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/unwrapping/tunnel.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "tools/conformance/check/packets/frame.h"
#include "tools/conformance/check/packets/ip.h"

// Places are from RFC 3032 (MPLS), 2784 and 2890 (GRE), 7348 (VXLAN), 8926 (GENEVE), and of ERSPAN from
// draft-foschiano-erspan. Tests compare all of them with tshark.
namespace urnic::check {
namespace {

constexpr std::uint16_t kEtherErspan = 0x88be;  // types I and II
constexpr std::uint16_t kEtherErspan3 = 0x22eb;

Opened failed(Obstacle obstacle) {
  return {.obstacle = obstacle};
}

bool has(ByteView bytes, std::size_t at, std::size_t count) {
  return at <= bytes.size() && bytes.size() - at >= count;
}

/// The EtherType of what follows MPLS labels, which do not say it: IP by its version, and Ethernet, with or
/// without a control word of four bytes that begins with 0.
Opened content_of_mpls(ByteView bytes, std::size_t at, std::size_t header_bytes) {
  constexpr std::size_t kControlWord = 4;
  Opened opened{.wrapping = Wrapping::kMpls, .ether_type = kEtherEthernet, .header_bytes = header_bytes};
  if (!has(bytes, at, 1)) return failed(Obstacle::kCutTunnel);
  const auto datagram = parse_ip(bytes.subspan(at));
  // A MAC address may begin like an IPv4 header, but then the checksum does not fit.
  const bool is_ip =
      datagram && datagram->payload_bytes > 0 &&
      (datagram->is_ipv6 || load_u16(bytes, at + 10) == 0 || ipv4_checksum_is_right(datagram->header));
  if (is_ip) {
    opened.ether_type = datagram->is_ipv6 ? kEtherIpv6 : kEtherIpv4;
  } else if (load_u8(bytes, at) >> 4 == 0 && has(bytes, at, kControlWord) && load_u32(bytes, at) == 0) {
    opened.header_bytes += kControlWord;
  }
  return opened;
}

Opened open_mpls(ByteView bytes, std::size_t at, Layers& layers) {
  constexpr std::size_t kLabelBytes = 4;
  constexpr std::uint32_t kBottom = 0x100;
  constexpr int kMostLabels = 16;
  for (std::size_t label = 0; label < kMostLabels; ++label) {
    const std::size_t place = at + label * kLabelBytes;
    if (!has(bytes, place, kLabelBytes)) return failed(Obstacle::kCutTunnel);
    if (!layers.add(LayerKind::kMpls, place)) return failed(Obstacle::kTooDeep);
    if ((load_u32(bytes, place) & kBottom) != 0) {
      return content_of_mpls(bytes, place + kLabelBytes, (label + 1) * kLabelBytes);
    }
  }
  return failed(Obstacle::kTooDeep);
}

/// ERSPAN in a GRE header of `gre_bytes` that ends at `at`.
Opened open_erspan2(ByteView bytes, std::size_t at, std::size_t gre_bytes, Layers& layers) {
  constexpr std::size_t kHeaderBytes = 8;
  constexpr unsigned kVersion = 1;
  if (!has(bytes, at, kHeaderBytes)) return failed(Obstacle::kCutTunnel);
  if (load_u8(bytes, at) >> 4 != kVersion) return failed(Obstacle::kOddTunnel);
  if (!layers.add(LayerKind::kErspan2, at)) return failed(Obstacle::kTooDeep);
  return {
      .wrapping = Wrapping::kErspan2, .ether_type = kEtherEthernet, .header_bytes = gre_bytes + kHeaderBytes};
}

Opened open_erspan3(ByteView bytes, std::size_t at, std::size_t gre_bytes, Layers& layers) {
  constexpr std::size_t kHeaderBytes = 12;
  constexpr std::size_t kSubheaderBytes = 8;
  constexpr unsigned kVersion = 2;
  constexpr unsigned kIpContent = 2;
  if (!has(bytes, at, kHeaderBytes)) return failed(Obstacle::kCutTunnel);
  const unsigned flags = load_u16(bytes, at + 10);
  const unsigned content = (flags >> 10) & 0x1fu;
  const bool has_subheader = (flags & 1u) != 0;
  const std::size_t size = kHeaderBytes + (has_subheader ? kSubheaderBytes : 0);
  if (load_u8(bytes, at) >> 4 != kVersion || (content != 0 && content != kIpContent)) {
    return failed(Obstacle::kOddTunnel);
  }
  if (!has(bytes, at, size + 1)) return failed(Obstacle::kCutTunnel);
  if (!layers.add(LayerKind::kErspan3, at)) return failed(Obstacle::kTooDeep);
  const bool is_ipv4 = load_u8(bytes, at + size) >> 4 == 4;
  return {.wrapping = Wrapping::kErspan3,
          .ether_type = content == 0 ? kEtherEthernet
                        : is_ipv4    ? kEtherIpv4
                                     : kEtherIpv6,
          .header_bytes = gre_bytes + size};
}

Opened open_gre(ByteView bytes, std::size_t at, Layers& layers) {
  constexpr unsigned kChecksum = 0x8000;
  constexpr unsigned kKey = 0x2000;
  constexpr unsigned kSequence = 0x1000;
  constexpr unsigned kRoutingOrVersion = 0x4007;
  constexpr std::size_t kFieldBytes = 4;
  if (!has(bytes, at, kFieldBytes)) return failed(Obstacle::kCutTunnel);
  const unsigned flags = load_u16(bytes, at);
  if ((flags & kRoutingOrVersion) != 0) return failed(Obstacle::kOddTunnel);
  std::size_t size = kFieldBytes;
  for (const unsigned field : {kChecksum, kKey, kSequence}) size += (flags & field) != 0 ? kFieldBytes : 0;
  if (!has(bytes, at, size)) return failed(Obstacle::kCutTunnel);
  if (!layers.add(LayerKind::kGre, at)) return failed(Obstacle::kTooDeep);
  const std::uint16_t type = load_u16(bytes, at + 2);
  switch (type) {
    case kEtherErspan:
      // Type I has no header of its own, and is known by a GRE header without a sequence number.
      if ((flags & kSequence) != 0) return open_erspan2(bytes, at + size, size, layers);
      return {.wrapping = Wrapping::kErspan1, .ether_type = kEtherEthernet, .header_bytes = size};
    case kEtherErspan3:
      return open_erspan3(bytes, at + size, size, layers);
    default:
      return {.wrapping = Wrapping::kGre, .ether_type = type, .header_bytes = size};
  }
}

Opened open_vxlan(ByteView bytes, std::size_t at, Layers& layers) {
  constexpr std::size_t kHeaderBytes = 8;
  constexpr unsigned kHasNetwork = 0x08;
  if (!has(bytes, at, kHeaderBytes)) return failed(Obstacle::kCutTunnel);
  if ((load_u8(bytes, at) & kHasNetwork) == 0) return failed(Obstacle::kOddTunnel);
  if (!layers.add(LayerKind::kVxlan, at)) return failed(Obstacle::kTooDeep);
  return {.wrapping = Wrapping::kVxlan, .ether_type = kEtherEthernet, .header_bytes = kHeaderBytes};
}

Opened open_geneve(ByteView bytes, std::size_t at, Layers& layers) {
  constexpr std::size_t kHeaderBytes = 8;
  if (!has(bytes, at, kHeaderBytes)) return failed(Obstacle::kCutTunnel);
  const unsigned first = load_u8(bytes, at);
  if (first >> 6 != 0) return failed(Obstacle::kOddTunnel);
  const std::size_t size = kHeaderBytes + (first & 0x3fu) * 4u;
  if (!has(bytes, at, size)) return failed(Obstacle::kCutTunnel);
  if (!layers.add(LayerKind::kGeneve, at)) return failed(Obstacle::kTooDeep);
  return {.wrapping = Wrapping::kGeneve, .ether_type = load_u16(bytes, at + 2), .header_bytes = size};
}

Opened open_ipv4(ByteView, std::size_t, Layers&) {
  return {.wrapping = Wrapping::kIpInIp, .ether_type = kEtherIpv4};
}
Opened open_ipv6(ByteView, std::size_t, Layers&) {
  return {.wrapping = Wrapping::kIpInIp, .ether_type = kEtherIpv6};
}

constexpr Tunnel kTunnels[] = {
    {Carrier::kEtherType, kEtherMpls, open_mpls},
    {Carrier::kEtherType, kEtherMplsUpstream, open_mpls},
    {Carrier::kIpProtocol, 4, open_ipv4},
    {Carrier::kIpProtocol, 41, open_ipv6},
    {Carrier::kIpProtocol, 47, open_gre},
    {Carrier::kIpProtocol, 137, open_mpls},
    {Carrier::kUdpPort, 4789, open_vxlan},
    {Carrier::kUdpPort, 8472, open_vxlan},  // the default of Linux
    {Carrier::kUdpPort, 6081, open_geneve},
    {Carrier::kUdpPort, 6635, open_mpls},
};

}  // namespace

const Tunnel* tunnel_of(Carrier carrier, std::uint16_t number) {
  const auto* const found =
      std::find_if(std::begin(kTunnels), std::end(kTunnels), [carrier, number](const Tunnel& tunnel) {
        return tunnel.carrier == carrier && tunnel.number == number;
      });
  return found == std::end(kTunnels) ? nullptr : found;
}

bool is_mirror(Wrapping wrapping) {
  return wrapping == Wrapping::kErspan1 || wrapping == Wrapping::kErspan2 || wrapping == Wrapping::kErspan3;
}

const char* to_string(Wrapping wrapping) {
  switch (wrapping) {
    case Wrapping::kMpls:
      return "MPLS";
    case Wrapping::kGre:
      return "GRE";
    case Wrapping::kErspan1:
      return "ERSPAN I";
    case Wrapping::kErspan2:
      return "ERSPAN II";
    case Wrapping::kErspan3:
      return "ERSPAN III";
    case Wrapping::kVxlan:
      return "VXLAN";
    case Wrapping::kGeneve:
      return "GENEVE";
    case Wrapping::kIpInIp:
      break;
  }
  return "IP in IP";
}

const char* to_string(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kLinkType:
      return "of a link type that cannot be read";
    case Obstacle::kInfiniBand:
      return "of InfiniBand itself (a local route header, no Ethernet)";
    case Obstacle::kCutTunnel:
      return "cut inside a tunnel's header";
    case Obstacle::kOddTunnel:
      return "in a tunnel of an unknown version or content";
    case Obstacle::kTooDeep:
      return "in too many tunnels";
    case Obstacle::kEncrypted:
      return "encrypted (IPsec)";
    case Obstacle::kFragmentLost:
      return "fragments that are cut";
    case Obstacle::kNone:
      break;
  }
  return "";
}

}  // namespace urnic::check
