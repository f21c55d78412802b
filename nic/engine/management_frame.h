// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How a message of connection managers becomes a frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/cm/connection.h"
#include "nic/path/path.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic {

inline constexpr transport::QpNumber kManagementQp{1};
/// The Q_Key of its datagrams (fact 16).
inline constexpr std::uint32_t kManagementQkey = 0x80010000;

/// The longest such frame: over IPv6, with a VLAN's tag.
inline constexpr std::size_t kMaxManagementFrame = 352;

/// Writes a datagram from queue pair 1 to queue pair 1 (fact 44): the whole frame with its ICRC, as a port of
/// that medium carries it. `station` has the MAC; `frame` has room for kMaxManagementFrame bytes. Returns how
/// many it has.
std::size_t write_management_frame(const cm::OutgoingMad& mad, const LinkSource& from,
                                   const transport::wire::Mac& station, transport::Psn psn,
                                   std::span<std::byte> frame);

}  // namespace urnic::nic
