// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/neighbor_frames.h"

#include "transport/wire/arp.h"

namespace urnic::nic {
namespace {

using namespace transport::wire;

static_assert(Arp::kBytes <= NeighborMessage::kMaxBytes);

constexpr Ipv6Address kAllNodes{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

template <typename Message>
std::size_t write_frame(const Mac& destination, const LinkSource& from, EtherType type,
                        const Message& message, std::span<std::byte> frame) {
  Ethernet ethernet = header_from(from);
  ethernet.destination = destination;
  ethernet.ether_type = type;
  const std::size_t header = emit(ethernet, frame);
  return header + emit(message, frame.subspan(header));
}

/// Gratuitous when `own` and `target` are the same (RFC 5227 prefers the request as the form of an
/// announcement).
std::size_t write_arp_request(const LinkSource& from, const Gid& own, const Gid& target,
                              std::span<std::byte> frame) {
  return write_frame(Mac::broadcast(), from, EtherType::kArp,
                     Arp{.operation = Arp::Operation::kRequest,
                         .sender_mac = from.mac,
                         .sender_ip = own.ipv4(),
                         .target_ip = target.ipv4()},
                     frame);
}

std::size_t write_advertisement(const LinkSource& from, const Gid& own, const Gid& to, const Mac& to_mac,
                                std::span<std::byte> frame) {
  return write_frame(to_mac, from, EtherType::kIpv6,
                     NeighborMessage{.type = NeighborMessage::Type::kAdvertisement,
                                     .solicited = !to.is_multicast(),
                                     .replaces = true,
                                     .source = own,
                                     .destination = to,
                                     .target = own,
                                     .link_layer_address = from.mac},
                     frame);
}

}  // namespace

std::size_t write_question(const LinkSource& from, const Gid& own, const Gid& target,
                           std::span<std::byte> frame) {
  if (target.is_ipv4_mapped()) return write_arp_request(from, own, target, frame);
  const Ipv6Address group = solicited_node_multicast(target);
  return write_frame(multicast_mac(group), from, EtherType::kIpv6,
                     NeighborMessage{.type = NeighborMessage::Type::kSolicitation,
                                     .source = own,
                                     .destination = group,
                                     .target = target,
                                     .link_layer_address = from.mac},
                     frame);
}

std::size_t write_answer(const LinkSource& from, const Gid& own, const Gid& to, const Mac& to_mac,
                         std::span<std::byte> frame) {
  if (own.is_ipv4_mapped()) {
    return write_frame(to_mac, from, EtherType::kArp,
                       Arp{.operation = Arp::Operation::kReply,
                           .sender_mac = from.mac,
                           .sender_ip = own.ipv4(),
                           .target_mac = to_mac,
                           .target_ip = to.ipv4()},
                       frame);
  }
  if (to.is_unspecified()) {
    return write_announcement(from, own, frame);  // RFC 4861 section 7.2.4
  }
  return write_advertisement(from, own, to, to_mac, frame);
}

std::size_t write_announcement(const LinkSource& from, const Gid& own, std::span<std::byte> frame) {
  if (own.is_ipv4_mapped()) return write_arp_request(from, own, own, frame);
  return write_advertisement(from, own, kAllNodes, multicast_mac(kAllNodes), frame);
}

}  // namespace urnic::nic
