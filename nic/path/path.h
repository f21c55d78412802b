// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Path: from a queue pair's packets to frames for its peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nic/path/gid_table.h"
#include "nic/port/vlan.h"
#include "transport/result.h"
#include "transport/types.h"
#include "transport/wire/address.h"
#include "transport/wire/encapsulation.h"
#include "transport/wire/frame.h"
#include "transport/wire/tail_crc.h"
#include "transport/written_packet.h"

namespace urnic::nic {

/// Where a queue pair or address handle sends to (ibv_ah_attr with a GRH; RoCE has no other).
struct AddressVector {
  transport::wire::Gid destination;
  std::uint8_t source_gid_index = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::uint32_t flow_label = 0;  ///< 20 bits; chooses the UDP source port (fact 6), or stands in the GRH
};

/// Whether this port can send there: EINVAL for a destination of zero, a source index that is not in use, or
/// addresses of different kinds.
Result<void, Error> check_address(const GidTable& gids, const AddressVector& address);

/// The headers in front of every packet to one peer, written once and patched per packet, and the ICRC after
/// the packet.
class Path {
 public:
  static constexpr std::size_t kIcrcBytes = 4;

  Path() = default;  ///< leads nowhere: header_bytes() is 0

  /// `source` must be of the destination's kind (both IPv4-mapped or both IPv6), and says how packets are
  /// encapsulated. On a VLAN the service level is the priority in the tag. Where `from` is on a medium that
  /// carries IP packets, there is RoCE v2 alone, and frames begin with the IP header.
  static Path make(const AddressVector& to, const GidEntry& source, const LinkSource& from,
                   transport::QpNumber local_qp, transport::QpNumber remote_qp);

  const GidEntry& source_entry() const { return source_; }
  const transport::wire::Gid& source() const { return source_.gid; }
  const transport::wire::Gid& destination() const { return destination_; }
  transport::wire::Encapsulation encapsulation() const { return source_.encapsulation; }

  /// Whether a frame came from the path's destination to its source (fact 12), however it is encapsulated.
  bool joins_ends_of(const transport::wire::Frame& frame) const {
    return frame.source_gid() == destination_ && frame.destination_gid() == source_.gid;
  }

  /// Ethernet, if any, + IP + UDP, or GRH: where in a frame the packet (BTH) begins.
  std::size_t header_bytes() const { return header_bytes_; }
  bool is_ipv4() const { return outer_ == Outer::kIpv4AndUdp; }

  /// From now on UDP comes from this port; the destination's flow label, if it has one, chose another. RoCE
  /// v1 has no ports.
  void use_source_port(std::uint16_t port);
  /// Where the peer is another NIC that shares this host's addresses: which one (nic/path/station.h). The
  /// host's network does not know of it.
  const std::optional<transport::wire::Mac>& local_station() const { return local_station_; }
  void set_local_station(const std::optional<transport::wire::Mac>& station) { local_station_ = station; }

  /// Whether the destination has a flow label, which then chose the UDP source port (fact 6).
  bool has_flow_label() const { return has_flow_label_; }

  /// The next packet gets the IPv4 identification that the next one of `other` would have; `other` goes on
  /// after it.
  void take_identification_of(Path& other) { next_ip_id_ = other.next_ip_id_++; }

  /// Completes a frame whose packet stands at header_bytes(): writes the headers in front of it, addressed to
  /// `peer_mac` on Ethernet, and the ICRC after it. Returns the frame's length. `frame` has room for the
  /// ICRC.
  std::size_t encapsulate(std::span<std::byte> frame, const transport::WrittenPacket& packet,
                          const transport::wire::Mac& peer_mac);
  /// The same with zeros in place of the ICRC; also for a run, whose packets get identifications one after
  /// the other, beginning with the frame's.
  std::size_t encapsulate_without_icrc(std::span<std::byte> frame, const transport::WrittenPacket& packet,
                                       const transport::wire::Mac& peer_mac);

 private:
  /// What stands between Ethernet and the packet.
  enum class Outer : std::uint8_t { kIpv4AndUdp, kIpv6AndUdp, kGrh };

  template <std::size_t kBytes>
  void copy_first(std::span<std::byte> frame) const;
  void copy_headers(std::span<std::byte> frame, const transport::wire::Mac& peer_mac) const;
  void write_headers(std::span<std::byte> frame, const transport::WrittenPacket& packet,
                     const transport::wire::Mac& peer_mac);
  std::uint32_t icrc_of(std::span<const std::byte> outer_headers, std::span<const std::byte> packet,
                        const transport::wire::TailCrc& tail) const;

  std::array<std::byte, 66> headers_{};
  std::size_t header_bytes_ = 0;
  std::size_t ip_at_ = 0;  // 0: there is no Ethernet header
  GidEntry source_{};
  transport::wire::Gid destination_{};
  std::optional<transport::wire::Mac> local_station_;
  std::uint16_t next_ip_id_ = 0;
  bool has_flow_label_ = false;
  Outer outer_{};
};

/// The UDP source port of a datagram queue pair whose address handle has no flow label (fact 7).
std::uint16_t datagram_source_port(transport::QpNumber qp);

}  // namespace urnic::nic
