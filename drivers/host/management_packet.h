// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How the host's switch reads what connection managers say.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "nic/cm/message.h"
#include "transport/wire/address.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc_identification.h"
#include "transport/wire/packet.h"

namespace urnic::drivers {

/// The identification of an IPv4 header, which the ICRC covers, is not known where a UDP socket received the
/// packet.
bool is_intact(const transport::wire::Frame& frame, transport::wire::IcrcIdentification& identifications);

/// Whether it is a datagram for queue pair 1, as long as a management datagram.
bool is_for_management(const transport::wire::Packet& packet);

struct ManagementPacket {
  transport::wire::Gid source{};
  transport::wire::Gid destination{};
  nic::cm::Mad mad;
};

/// An IP packet; nothing when it is no message of a connection manager, or its ICRC is wrong.
std::optional<ManagementPacket> read_management_packet(std::span<const std::byte> packet);

}  // namespace urnic::drivers
