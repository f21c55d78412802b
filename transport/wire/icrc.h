// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The invariant CRC of RoCE: everything that no router may change (facts 1 and 2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/wire/tail_crc.h"

namespace urnic::transport::wire {

inline constexpr std::size_t kIcrcBytes = 4;

/// ICRC of a datagram. `ip_and_udp` is the IP header, IPv4 options included, and the UDP header, as sent. In
/// these fields any value will do: TOS, TTL and header checksum, or traffic class, flow label and hop limit,
/// and the UDP checksum. `ib` is the rest of the datagram before the ICRC: BTH to padding, at least a BTH.
/// `tail` covers nothing before the end of the BTH; of the bytes that it covers, only the CRC counts.
std::uint32_t icrc_ipv4(std::span<const std::byte> ip_and_udp, std::span<const std::byte> ib,
                        const TailCrc& tail = {});
std::uint32_t icrc_ipv6(std::span<const std::byte> ip_and_udp, std::span<const std::byte> ib,
                        const TailCrc& tail = {});
/// The same in RoCE v1, where a GRH stands in place of both headers, and counts as an IPv6 header does.
std::uint32_t icrc_grh(std::span<const std::byte> grh, std::span<const std::byte> ib,
                       const TailCrc& tail = {});

/// The ICRC is the one number of the packet that is stored with its lowest byte first. Uses the first
/// kIcrcBytes.
std::uint32_t load_icrc(std::span<const std::byte> bytes);
void store_icrc(std::uint32_t icrc, std::span<std::byte> out);

}  // namespace urnic::transport::wire
