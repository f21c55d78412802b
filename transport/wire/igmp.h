// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// IGMP: reports of IPv4 groups, in versions 1 (RFC 1112), 2 (RFC 2236) and 3 (RFC 3376).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "transport/wire/address.h"
#include "transport/wire/group_membership.h"

namespace urnic::transport::wire {

/// Reads an IPv4 packet, header first; Ethernet padding may follow. Nothing for anything else than a whole
/// query with a right checksum, about all groups or one. TTL and router alert option are not looked at, as in
/// Linux: switches that query in place of a router are not all exact.
std::optional<MembershipQuery> parse_igmp_query(std::span<const std::byte> packet);

/// Where the report goes: version 3 to its routers (224.0.0.22), a version 2 leave to all routers, others to
/// the group.
Ipv4Address igmp_destination(const MembershipReport& report);

/// Writes IPv4 header (TTL 1, router alert) and report to the front of `out`, which must have room for
/// MembershipReport::kMaxBytes; returns the size.
std::size_t emit_igmp(const MembershipReport& report, std::span<std::byte> out);

}  // namespace urnic::transport::wire
