#include "nic/path/neighbor_frames.h"

#include "transport/wire/arp.h"

namespace urnic::nic {
namespace {

using namespace transport::wire;

static_assert(Arp::kBytes <= NeighbourMessage::kMaxBytes);

constexpr Ipv6Address kAllNodes{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

template <typename Message>
std::size_t write_frame(const Mac& destination, const Mac& source, EtherType type, const Message& message,
                        std::span<std::byte> frame) {
  const std::size_t header = emit(
      Ethernet{.destination = destination, .source = source, .vlan_tags = {}, .ether_type = type}, frame);
  return header + emit(message, frame.subspan(header));
}

/// Gratuitous when `own` and `target` are the same (RFC 5227 prefers the request as the form of an
/// announcement).
std::size_t write_arp_request(const Mac& own_mac, const Gid& own, const Gid& target,
                              std::span<std::byte> frame) {
  return write_frame(Mac::broadcast(), own_mac, EtherType::kArp,
                     Arp{.operation = Arp::Operation::kRequest,
                         .sender_mac = own_mac,
                         .sender_ip = own.ipv4(),
                         .target_ip = target.ipv4()},
                     frame);
}

std::size_t write_advertisement(const Mac& own_mac, const Gid& own, const Gid& to, const Mac& to_mac,
                                std::span<std::byte> frame) {
  return write_frame(to_mac, own_mac, EtherType::kIpv6,
                     NeighbourMessage{.type = NeighbourMessage::Type::kAdvertisement,
                                      .solicited = !to.is_multicast(),
                                      .replaces = true,
                                      .source = own,
                                      .destination = to,
                                      .target = own,
                                      .link_layer_address = own_mac},
                     frame);
}

}  // namespace

std::size_t write_question(const Mac& own_mac, const Gid& own, const Gid& target,
                           std::span<std::byte> frame) {
  if (target.is_ipv4_mapped()) {
    return write_arp_request(own_mac, own, target, frame);
  }
  const Ipv6Address group = solicited_node_multicast(target);
  return write_frame(multicast_mac(group), own_mac, EtherType::kIpv6,
                     NeighbourMessage{.type = NeighbourMessage::Type::kSolicitation,
                                      .source = own,
                                      .destination = group,
                                      .target = target,
                                      .link_layer_address = own_mac},
                     frame);
}

std::size_t write_answer(const Mac& own_mac, const Gid& own, const Gid& to, const Mac& to_mac,
                         std::span<std::byte> frame) {
  if (own.is_ipv4_mapped()) {
    return write_frame(to_mac, own_mac, EtherType::kArp,
                       Arp{.operation = Arp::Operation::kReply,
                           .sender_mac = own_mac,
                           .sender_ip = own.ipv4(),
                           .target_mac = to_mac,
                           .target_ip = to.ipv4()},
                       frame);
  }
  if (to.is_unspecified()) {
    return write_announcement(own_mac, own, frame);  // RFC 4861 section 7.2.4
  }
  return write_advertisement(own_mac, own, to, to_mac, frame);
}

std::size_t write_announcement(const Mac& own_mac, const Gid& own, std::span<std::byte> frame) {
  if (own.is_ipv4_mapped()) {
    return write_arp_request(own_mac, own, own, frame);
  }
  return write_advertisement(own_mac, own, kAllNodes, multicast_mac(kAllNodes), frame);
}

}  // namespace urnic::nic
