// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/path.h"

#include <fmt/core.h>

#include <cassert>
#include <cstring>
#include <string>

#include "nic/errors.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/icrc.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::nic {
namespace {

using namespace transport::wire;
using transport::QpNumber;
using transport::to_integer;

/// What stands between Ethernet and the packet.
constexpr std::size_t kIpv4AndUdpBytes = Ipv4::kMinBytes + Udp::kBytes;
constexpr std::size_t kIpv6AndUdpBytes = Ipv6::kBytes + Udp::kBytes;
constexpr std::size_t kGrhBytes = Ipv6::kBytes;

// In the IP header; a GRH has the form of an IPv6 header.
constexpr std::size_t kIpv4TotalLengthAt = 2;
constexpr std::size_t kIpv4IdentificationAt = 4;
constexpr std::size_t kIpv4ChecksumAt = 10;
constexpr std::size_t kIpv6PayloadLengthAt = 4;
constexpr std::size_t kUdpLengthInUdp = 4;

/// Queue pairs without a flow label have one that both ends find from their numbers (fact 6).
std::uint32_t flow_label_of(QpNumber local, QpNumber remote) {
  std::uint64_t folded = std::uint64_t{to_integer(local)} * to_integer(remote);
  folded ^= folded >> 20;
  folded ^= folded >> 40;
  return static_cast<std::uint32_t>(folded & 0xfffffu);
}

/// Fact 6.
std::uint16_t source_port_of(std::uint32_t flow_label) {
  const std::uint32_t label = flow_label & 0xfffffu;
  return static_cast<std::uint16_t>(((label & 0x3fffu) ^ (label >> 14)) | 0xc000u);
}

/// What the checksum of an IPv4 header becomes when two of its fields, zero so far, get these values (RFC
/// 1624).
std::uint16_t add_to_checksum(std::uint16_t checksum, std::uint16_t field, std::uint16_t other_field) {
  std::uint32_t sum = (~checksum & 0xffffu) + std::uint32_t{field} + other_field;
  sum = (sum & 0xffffu) + (sum >> 16);
  sum = (sum & 0xffffu) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::string entry_text(const GidTable& gids, std::size_t index, const GidEntry& entry) {
  const std::string gid = to_string(entry.gid);
  if (!gids.has_roce_v1()) return fmt::format("{} ({})", index, gid);
  return fmt::format("{} ({}, RoCE v{})", index, gid, entry.encapsulation == Encapsulation::kRoceV1 ? 1 : 2);
}

/// That the GID index is empty, and which are not.
std::string empty_index(const GidTable& gids, std::size_t index) {
  std::string used;
  for (std::size_t i = 0; i < gids.size(); ++i) {
    if (const auto entry = gids.entry_at(i)) {
      used += (used.empty() ? "" : ", ") + entry_text(gids, i, *entry);
    }
  }
  std::string what = "is empty";
  if (index >= gids.size()) what = fmt::format("is beyond the table of {} entries", gids.size());
  if (gids.would_be_roce_v1(index)) what = "is empty, as RoCE v1 needs a port that carries Ethernet";
  return fmt::format("the source GID index {} {}; in use are {}", index, what, used.empty() ? "none" : used);
}

}  // namespace

Result<void, Error> check_address(const GidTable& gids, const AddressVector& address) {
  if (address.destination.is_unspecified()) return failure(invalid("an address needs a destination GID"));
  const auto source = gids.at(address.source_gid_index);
  if (!source) return failure(invalid(empty_index(gids, address.source_gid_index)));
  if (source->is_ipv4_mapped() != address.destination.is_ipv4_mapped()) {
    return failure(invalid("source and destination GID are not both IPv4 or both IPv6"));
  }
  return success();
}

// The template of an IPv4 header has the lengths and the identification zero, and the checksum that goes with
// that.
Path Path::make(const AddressVector& to, const GidEntry& source, const LinkSource& from, QpNumber local_qp,
                QpNumber remote_qp) {
  assert(source.gid.is_ipv4_mapped() == to.destination.is_ipv4_mapped());
  const bool is_roce_v1 = source.encapsulation == Encapsulation::kRoceV1;
  const bool is_ipv4 = !is_roce_v1 && to.destination.is_ipv4_mapped();
  assert(!is_roce_v1 || from.medium == Medium::kEthernet);
  Path path;
  path.source_ = source;
  path.destination_ = to.destination;
  path.outer_ = is_roce_v1 ? Outer::kGrh : is_ipv4 ? Outer::kIpv4AndUdp : Outer::kIpv6AndUdp;
  path.has_flow_label_ = to.flow_label != 0;
  const std::span<std::byte> headers(path.headers_);
  if (from.medium == Medium::kEthernet) {
    Ethernet ethernet = header_from(from, to.service_level);
    ethernet.ether_type = is_roce_v1 ? EtherType::kRoceV1 : is_ipv4 ? EtherType::kIpv4 : EtherType::kIpv6;
    path.ip_at_ = emit(ethernet, headers);
  }
  std::size_t at = path.ip_at_;
  if (is_ipv4) {
    at += emit(Ipv4{.tos = to.traffic_class,
                    .ttl = to.hop_limit,
                    .source = source.gid.ipv4(),
                    .destination = to.destination.ipv4()},
               headers.subspan(at));
  } else {
    // In RoCE v2 the flow label shows in the UDP source port and nowhere else (fact 10).
    at += emit(Ipv6{.traffic_class = to.traffic_class,
                    .flow_label = is_roce_v1 ? to.flow_label : 0,
                    .next_header = is_roce_v1 ? IpProtocol::kBth : IpProtocol::kUdp,
                    .hop_limit = to.hop_limit,
                    .source = source.gid,
                    .destination = to.destination},
               headers.subspan(at));
  }
  if (!is_roce_v1) {
    const std::uint32_t flow_label = to.flow_label != 0 ? to.flow_label : flow_label_of(local_qp, remote_qp);
    at += emit(Udp{.source_port = source_port_of(flow_label)}, headers.subspan(at));
  }
  path.header_bytes_ = at;
  return path;
}

void Path::use_source_port(std::uint16_t port) {
  if (encapsulation() == Encapsulation::kRoceV1) return;
  store_u16(std::span<std::byte>(headers_), header_bytes_ - Udp::kBytes, port);
}

std::uint16_t datagram_source_port(QpNumber qp) {
  constexpr std::uint32_t kGoldenRatio = 0x61c88647;
  constexpr unsigned kDynamicPortBits = 14;
  return static_cast<std::uint16_t>(0xc000u + (to_integer(qp) * kGoldenRatio >> (32 - kDynamicPortBits)));
}

/// A constant size, so that this is a few wide stores.
template <std::size_t kBytes>
void Path::copy_first(std::span<std::byte> frame) const {
  std::memcpy(frame.data(), headers_.data(), kBytes);
}

/// A VLAN tag makes the headers longer by its size.
void Path::copy_headers(std::span<std::byte> frame, const Mac& peer_mac) const {
  if (ip_at_ == 0) {
    return outer_ == Outer::kIpv4AndUdp ? copy_first<kIpv4AndUdpBytes>(frame)
                                        : copy_first<kIpv6AndUdpBytes>(frame);
  }
  switch (outer_) {
    case Outer::kIpv4AndUdp:
      copy_first<Ethernet::kMinBytes + kIpv4AndUdpBytes>(frame);
      break;
    case Outer::kIpv6AndUdp:
      copy_first<Ethernet::kMinBytes + kIpv6AndUdpBytes>(frame);
      break;
    case Outer::kGrh:
      copy_first<Ethernet::kMinBytes + kGrhBytes>(frame);
      break;
  }
  if (ip_at_ != Ethernet::kMinBytes) {
    const std::size_t rest_at = header_bytes_ - VlanTag::kBytes;
    std::memcpy(frame.data() + rest_at, headers_.data() + rest_at, VlanTag::kBytes);
  }
  store_address(frame, 0, peer_mac);
}

/// With the lengths that this packet asks for.
void Path::write_headers(std::span<std::byte> frame, const transport::WrittenPacket& packet,
                         const Mac& peer_mac) {
  assert(header_bytes_ != 0);
  assert(frame.size() >= header_bytes_ + packet.size + kIcrcBytes);
  copy_headers(frame, peer_mac);
  const std::span<std::byte> ip = frame.subspan(ip_at_);
  const std::size_t ib_bytes = packet.size + kIcrcBytes;
  if (outer_ == Outer::kGrh) {
    return store_u16(ip, kIpv6PayloadLengthAt, static_cast<std::uint16_t>(ib_bytes));
  }
  const std::size_t udp_bytes = Udp::kBytes + ib_bytes;
  assert(Ipv4::kMinBytes + udp_bytes <= 0xffff);
  store_u16(frame, header_bytes_ - Udp::kBytes + kUdpLengthInUdp, static_cast<std::uint16_t>(udp_bytes));
  if (outer_ == Outer::kIpv6AndUdp) {
    return store_u16(ip, kIpv6PayloadLengthAt, static_cast<std::uint16_t>(udp_bytes));
  }
  const auto total_length = static_cast<std::uint16_t>(Ipv4::kMinBytes + udp_bytes);
  const std::uint16_t identification = ip_at_ == 0 ? std::uint16_t{0} : next_ip_id_;
  next_ip_id_ = static_cast<std::uint16_t>(next_ip_id_ + packet.packets);
  store_u16(ip, kIpv4TotalLengthAt, total_length);
  store_u16(ip, kIpv4IdentificationAt, identification);
  store_u16(ip, kIpv4ChecksumAt,
            add_to_checksum(load_u16(headers_, ip_at_ + kIpv4ChecksumAt), total_length, identification));
}

std::uint32_t Path::icrc_of(std::span<const std::byte> outer_headers, std::span<const std::byte> packet,
                            const TailCrc& tail) const {
  switch (outer_) {
    case Outer::kIpv4AndUdp:
      return icrc_ipv4(outer_headers, packet, tail);
    case Outer::kIpv6AndUdp:
      return icrc_ipv6(outer_headers, packet, tail);
    case Outer::kGrh:
      break;
  }
  return icrc_grh(outer_headers, packet, tail);
}

std::size_t Path::encapsulate(std::span<std::byte> frame, const transport::WrittenPacket& packet,
                              const Mac& peer_mac) {
  write_headers(frame, packet, peer_mac);
  const std::span<std::byte> outer_headers = frame.subspan(ip_at_, header_bytes_ - ip_at_);
  const std::span<std::byte> ib = frame.subspan(header_bytes_, packet.size);
  store_icrc(icrc_of(outer_headers, ib, packet.tail), frame.subspan(header_bytes_ + packet.size, kIcrcBytes));
  return header_bytes_ + packet.size + kIcrcBytes;
}

std::size_t Path::encapsulate_without_icrc(std::span<std::byte> frame, const transport::WrittenPacket& packet,
                                           const Mac& peer_mac) {
  write_headers(frame, packet, peer_mac);
  store_icrc(0, frame.subspan(header_bytes_ + packet.size, kIcrcBytes));
  return header_bytes_ + packet.size + kIcrcBytes;
}

}  // namespace urnic::nic
