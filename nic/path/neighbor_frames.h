// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The frames that the neighbor cache sends: ARP for IPv4-mapped addresses, neighbor discovery for the
// others.
#pragma once

#include <cstddef>
#include <span>

#include "nic/port/vlan.h"
#include "transport/wire/address.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/icmpv6_nd.h"

namespace urnic::nic {

/// Room for the longest of these frames.
inline constexpr std::size_t kMaxNeighborFrameBytes = transport::wire::Ethernet::kMinBytes +
                                                      transport::wire::VlanTag::kBytes +
                                                      transport::wire::NeighborMessage::kMaxBytes;

// All write to the front of `frame`, which has room for kMaxNeighborFrameBytes, and return the size of the
// frame.

/// Asks all hosts (ARP), or the target's solicited-node group, who has `target`. `own` is of the target's
/// kind.
std::size_t write_question(const LinkSource& from, const transport::wire::Gid& own,
                           const transport::wire::Gid& target, std::span<std::byte> frame);

/// Tells `to` at `to_mac` that `own` is ours. An unspecified `to` looks for duplicates: in IPv6 the answer
/// then goes to all nodes.
std::size_t write_answer(const LinkSource& from, const transport::wire::Gid& own,
                         const transport::wire::Gid& to, const transport::wire::Mac& to_mac,
                         std::span<std::byte> frame);

/// Tells all hosts that `own` is ours: a gratuitous ARP request or an unsolicited advertisement.
std::size_t write_announcement(const LinkSource& from, const transport::wire::Gid& own,
                               std::span<std::byte> frame);

}  // namespace urnic::nic
