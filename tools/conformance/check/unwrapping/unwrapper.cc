// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/unwrapping/unwrapper.h"

#include <algorithm>
#include <utility>

#include "tools/conformance/check/packets/ip.h"

namespace urnic::check {
namespace {

constexpr std::uint8_t kProtocolEsp = 50;

std::size_t place_in(ByteView bytes, ByteView part) {
  return static_cast<std::size_t>(part.data() - bytes.data());
}

bool fail(Unwrapped& found, Obstacle obstacle) {
  found.obstacle = obstacle;
  return false;
}

/// Adds an Ethernet header at `at`, and the VLAN tags up to `end`. False if they are too many.
bool add_ethernet(Layers& layers, std::size_t at, std::size_t end) {
  bool has_room = layers.add(LayerKind::kEthernet, at);
  for (std::size_t tag = at + kEthernetBytes; tag < end; tag += kVlanBytes) {
    has_room = has_room && layers.add(LayerKind::kVlan, tag);
  }
  return has_room;
}

}  // namespace

Unwrapped Unwrapper::look(LinkType link_type, ByteView bytes, std::int64_t time_ns) {
  Unwrapped found{.bytes = bytes};
  wholes_.clear();
  if (!is_supported(static_cast<int>(link_type))) {
    fail(found, link_type == LinkType::kInfiniBand ? Obstacle::kInfiniBand : Obstacle::kLinkType);
    return found;
  }
  Place place;
  if (link_type == LinkType::kEthernet) {
    place.network = {.ether_type = kEtherEthernet, .bytes = bytes};
    found.link = bytes;
    if (!enter_ethernet(place, found)) return found;
  } else if (const auto network = network_of(link_type, bytes)) {
    place.network = *network;
  } else {
    return found;
  }
  while (step(place, found, time_ns)) {
  }
  return found;
}

bool Unwrapper::enter_ethernet(Place& place, Unwrapped& found) const {
  const ByteView ethernet = place.network.bytes;
  const auto network = network_of(LinkType::kEthernet, ethernet);
  if (!network) return found.is_wrapped() ? fail(found, Obstacle::kCutTunnel) : false;
  const std::size_t at = place_in(found.bytes, ethernet);
  if (!add_ethernet(found.layers, at, at + ethernet.size() - network->bytes.size())) {
    return fail(found, Obstacle::kTooDeep);
  }
  place.network = *network;
  return true;
}

bool Unwrapper::enter(const Tunnel& tunnel, ByteView content, Place& place, Unwrapped& found) const {
  if (++place.tunnels > kMostTunnels) return fail(found, Obstacle::kTooDeep);
  const std::size_t at = place_in(found.bytes, content);
  const ByteView reach = found.bytes.first(at + content.size());
  const Opened opened = tunnel.open(reach, at, found.layers);
  if (opened.obstacle != Obstacle::kNone) return fail(found, opened.obstacle);
  found.wrappings.set(static_cast<std::size_t>(opened.wrapping));
  place.network = {.ether_type = opened.ether_type,
                   .bytes = content.subspan(std::min(content.size(), opened.header_bytes))};
  if (opened.ether_type != kEtherEthernet) return true;
  if (is_mirror(opened.wrapping)) found.link = place.network.bytes;
  return enter_ethernet(place, found);
}

bool Unwrapper::step(Place& place, Unwrapped& found, std::int64_t time_ns) {
  const std::uint16_t type = place.network.ether_type;
  if (type == kEtherIpv4 || type == kEtherIpv6) return step_into_datagram(place, found, time_ns);
  if (type == kEtherRoceV1) {
    found.frame = parse_network(place.network);
    return false;
  }
  if (const Tunnel* const tunnel = tunnel_of(Carrier::kEtherType, type)) {
    return enter(*tunnel, place.network.bytes, place, found);
  }
  // On Ethernet there are other protocols, which do not concern us; in GRE or GENEVE the content is unknown.
  const bool is_in_ethernet =
      !found.layers.all().empty() && (found.layers.all().back().kind == LayerKind::kEthernet ||
                                      found.layers.all().back().kind == LayerKind::kVlan);
  return found.is_wrapped() && !is_in_ethernet ? fail(found, Obstacle::kOddTunnel) : false;
}

bool Unwrapper::step_into_datagram(Place& place, Unwrapped& found, std::int64_t time_ns) {
  const auto datagram = parse_ip(place.network.bytes);
  const bool is_ipv6 = place.network.ether_type == kEtherIpv6;
  if (!datagram || datagram->is_ipv6 != is_ipv6) return false;
  if (datagram->is_fragment) return join(*datagram, place, found, time_ns);
  if (datagram->protocol == kProtocolEsp) return fail(found, Obstacle::kEncrypted);
  const Tunnel* tunnel = tunnel_of(Carrier::kIpProtocol, datagram->protocol);
  ByteView content = datagram->payload;
  const bool is_udp = datagram->protocol == kProtocolUdp;
  if (is_udp && content.size() >= kUdpBytes) {
    tunnel = tunnel_of(Carrier::kUdpPort, load_u16(content, 2));
    const std::size_t length = load_u16(content, 4);
    content = content.first(std::clamp(length, kUdpBytes, content.size())).subspan(kUdpBytes);
  }
  if (tunnel == nullptr) {
    if (is_udp) found.frame = parse_network(place.network);
    return false;
  }
  const bool has_room =
      found.layers.add(is_ipv6 ? LayerKind::kIpv6 : LayerKind::kIpv4,
                       place_in(found.bytes, datagram->header)) &&
      (!is_udp || found.layers.add(LayerKind::kUdp, place_in(found.bytes, content) - kUdpBytes));
  return has_room ? enter(*tunnel, content, place, found) : fail(found, Obstacle::kTooDeep);
}

bool Unwrapper::join(const Datagram& fragment, Place& place, Unwrapped& found, std::int64_t time_ns) {
  const bool is_udp = fragment.protocol == kProtocolUdp;
  if (!is_udp && tunnel_of(Carrier::kIpProtocol, fragment.protocol) == nullptr) return false;
  if (is_udp && fragment.offset == 0) found.first_fragment = parse_network(place.network);
  if (fragment.is_cut()) {
    found.is_fragment = true;
    return fail(found, Obstacle::kFragmentLost);
  }
  auto whole = fragments_.add(fragment, time_ns);
  if (!whole) {
    found.is_fragment = true;
    return false;
  }
  // The views of the fragment end here: a datagram inside another one that was put together needs both.
  found.bytes = wholes_.emplace_back(*std::move(whole));
  found.layers.clear();
  found.was_fragmented = true;
  place.network.bytes = found.bytes;
  return ++place.tunnels <= kMostTunnels || fail(found, Obstacle::kTooDeep);
}

}  // namespace urnic::check
