// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What IGMP and MLD have in common: routers, and switches that snoop, ask which groups have members, and
// hosts report them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/wire/address.h"

namespace urnic::transport::wire {

/// As IGMP counts. MLDv1 does what IGMPv2 does, MLDv2 what IGMPv3 does.
enum class MembershipVersion : std::uint8_t { k1 = 1, k2 = 2, k3 = 3 };

/// A query. One that also names sources is read as if it named the group alone.
struct MembershipQuery {
  MembershipVersion version = MembershipVersion::k3;
  Gid group{};                        ///< unspecified: the query asks for all groups
  std::uint32_t max_response_ms = 0;  ///< within which members report, at a time that each draws

  friend constexpr bool operator==(const MembershipQuery&, const MembershipQuery&) = default;
};

/// What a host says of a group, any source being meant. The values are the record types of IGMPv3 and MLDv2.
enum class MembershipState : std::uint8_t {
  kMember = 2,  ///< MODE_IS_EXCLUDE, of no source: the answer to a query
  kLeft = 3,    ///< CHANGE_TO_INCLUDE_MODE, no source
  kJoined = 4,  ///< CHANGE_TO_EXCLUDE_MODE, of no source
};

struct GroupRecord {
  MembershipState state = MembershipState::kMember;
  Gid group{};
};

/// A report, in the language of `version`. Before version 3 it is about one group; version 1 has no kLeft.
struct MembershipReport {
  /// Keeps the largest one, of MLDv2, below kMaxBytes, and that within any MTU.
  static constexpr std::size_t kMaxRecords = 10;
  /// With the IP header: 40 bytes of IPv6, 8 of its option, 8 and 20 for each record.
  static constexpr std::size_t kMaxBytes = 40 + 8 + 8 + 20 * kMaxRecords;

  MembershipVersion version = MembershipVersion::k3;
  Gid source{};
  std::span<const GroupRecord> records{};
};

}  // namespace urnic::transport::wire
