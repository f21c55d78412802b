// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whose a packet is among the processes that share a host's addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace urnic::drivers {

/// The share (nic::NumberShare) that has the queue pair which an IP packet of RoCEv2 is for, or the
/// communication id if it is for management; 0, the host's switch, for requests of the connection manager and
/// whatever else no process has asked for. Nothing: it is for whichever process it comes to, as what is sent
/// to groups is. Headers must be without options; others, and packets that end too early, are the switch's.
/// drivers/host/packet_filter.h has the kernel decide the same.
std::optional<std::uint8_t> share_of_packet(std::span<const std::byte> packet);

}  // namespace urnic::drivers
