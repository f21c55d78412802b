// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The headers of an IP datagram, of either version, with all that may stand before its payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tools/conformance/check/packets/byte_view.h"

namespace urnic::check {

inline constexpr std::uint16_t kEtherIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherIpv6 = 0x86dd;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::size_t kIpv4MinBytes = 20;
inline constexpr std::size_t kIpv6Bytes = 40;
inline constexpr std::size_t kUdpBytes = 8;

/// A datagram, or one fragment of one.
struct Datagram {
  bool is_ipv6 = false;
  std::uint8_t protocol = 0;        ///< what the payload is, after all extension headers
  std::size_t header_bytes = 0;     ///< options and extension headers included
  std::size_t extension_bytes = 0;  ///< IPv6: of the extension headers
  std::size_t payload_bytes = 0;    ///< as the lengths say
  ByteView header{};
  ByteView payload{};  ///< as far as captured; what follows the datagram does not belong to it

  bool is_fragment = false;
  bool more_follow = false;          ///< it is not the last fragment
  std::size_t offset = 0;            ///< of the fragment's payload in the whole one, in bytes
  std::uint32_t identification = 0;  ///< of the datagram; IPv6: of fragments only
  std::size_t protocol_at = 0;       ///< where in the header the number of the next header stands
  std::size_t fragment_bytes = 0;    ///< IPv6: of the fragment header, the last one in `header`

  bool is_cut() const { return payload.size() < payload_bytes; }
};

/// Nothing if the header is of another version, cut, or shorter than itself. The header of an IPv6 fragment
/// ends with the fragment header, whatever follows in the first fragment.
std::optional<Datagram> parse_ip(ByteView bytes);

}  // namespace urnic::check
