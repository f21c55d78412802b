// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// MLD, multicast listener discovery: reports of IPv6 groups, in versions 1 (RFC 2710) and 2 (RFC 3810).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "transport/wire/address.h"
#include "transport/wire/group_membership.h"

namespace urnic::transport::wire {

/// Reads an IPv6 packet, header first; Ethernet padding may follow. Nothing for anything else than a whole
/// query, about all groups or one, with a right checksum, hop limit 1, a link-local source and the router
/// alert option. An MLDv1 query has version 2 here, see MembershipVersion.
std::optional<MembershipQuery> parse_mld_query(std::span<const std::byte> packet);

/// Where the report goes: MLDv2 to its routers (ff02::16), an MLDv1 "done" to all routers, others to the
/// group.
Ipv6Address mld_destination(const MembershipReport& report);

/// Writes IPv6 header (hop limit 1, router alert) and report to the front of `out`, which must have room for
/// MembershipReport::kMaxBytes; returns the size. Its version is not 1.
std::size_t emit_mld(const MembershipReport& report, std::span<std::byte> out);

}  // namespace urnic::transport::wire
