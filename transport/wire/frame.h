// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Frame: a RoCE packet in its Ethernet frame, all headers before the InfiniBand packet taken apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "transport/result.h"
#include "transport/wire/address.h"
#include "transport/wire/encapsulation.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/parse_error.h"
#include "transport/wire/udp.h"

namespace urnic::transport::wire {

/// All spans point into the parsed bytes. A frame put together by hand for emit_frame() needs `ethernet`,
/// `encapsulation`, `ip`, `udp`, `ib` and `icrc`; the lengths in the headers are then worked out.
struct Frame {
  Ethernet ethernet{};
  Encapsulation encapsulation = Encapsulation::kRoceV2;
  std::variant<Ipv4, Ipv6> ip{};    ///< in RoCE v1 the GRH, which has the form of an IPv6 header
  Udp udp{};                        ///< of RoCE v2
  std::span<const std::byte> ib{};  ///< BTH to padding: what parse_packet() takes; at least a BTH
  std::uint32_t icrc = 0;           ///< as carried
  bool has_icrc = true;  ///< false: the sender of the frame has left it out; a parsed frame does not tell

  std::span<const std::byte> outer_headers{};     ///< as received: IP and UDP, or the GRH
  std::span<const std::byte> ethernet_padding{};  ///< whatever the frame has after the ICRC (fact 4)
  std::size_t used_bytes = 0;                     ///< from the destination MAC to the ICRC

  /// What parse_frame() does, on a frame that has its default values; undefined content after an error.
  std::optional<ParseError> read(std::span<const std::byte> bytes);
  /// What parse_ip_packet() does, likewise.
  std::optional<ParseError> read_ip_packet(std::span<const std::byte> bytes);

  bool is_ipv4() const { return std::holds_alternative<Ipv4>(ip); }
  Gid source_gid() const;
  Gid destination_gid() const;

  /// The ICRC that a parsed frame ought to have. Reads the whole packet once; call it at most once.
  std::uint32_t expected_icrc() const;
  /// Whether the ICRC that it carries is that one.
  bool icrc_ok() const { return expected_icrc() == icrc; }
};

/// Parses a frame from the destination MAC on, without FCS. IP and UDP give the length, and must agree, or
/// the GRH does; bytes after it are padding. The IPv4 header checksum must be right, the UDP checksum zero or
/// right (fact 10). Of what follows UDP or the GRH, it only checks that BTH and ICRC are there; it does not
/// check the ICRC. Errors: every ParseError except kBadIcrc and the errors of parse_packet(); kTooShort comes
/// from both.
///
/// kNotIp and kNotUdp mean that other parts of a NIC may want the frame: see arp.h and icmpv6_nd.h.
Result<Frame, ParseError> parse_frame(std::span<const std::byte> bytes);

/// The same from the IP header on: `ethernet` keeps its default values. kNotIp: it is neither IPv4 nor IPv6,
/// or empty. It is RoCE v2: a GRH stands on Ethernet alone.
Result<Frame, ParseError> parse_ip_packet(std::span<const std::byte> bytes);

/// The ICRC that `frame` ought to have, worked out from its fields.
std::uint32_t icrc_of(const Frame& frame);

/// Writes the frame: headers with the lengths that `ib` asks for, a fresh IPv4 header checksum, the UDP
/// checksum, `ib`, ICRC and Ethernet padding as `frame` has them. Returns the size, or 0 when it does not fit
/// into `out` or the datagram is too long for IP. A parsed frame gives the bytes it was parsed from, except
/// for an IPv4 header checksum of 0xffff, which comes out as the 0x0000 that is its equal.
std::size_t emit_frame(const Frame& frame, std::span<std::byte> out);

}  // namespace urnic::transport::wire
