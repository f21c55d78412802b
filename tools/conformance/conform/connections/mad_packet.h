// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Packets that carry messages of the connection manager: datagrams between the queue pairs 1 of two hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/conformance/script/connections/mad.h"

namespace urnic::conform::connections {

inline constexpr std::uint32_t kManagementQp = 1;

/// BTH to padding of a packet to the peer's queue pair 1. `mad` may be of any length.
std::vector<std::byte> make_mad_packet(std::span<const std::byte> mad, std::uint32_t psn);

struct HeardMad {
  scripts::connections::Mad mad;
  std::string fault;  ///< empty, or what is wrong around it
};
/// `ib`: BTH to padding. Nothing if it cannot be a message.
std::optional<HeardMad> read_mad_packet(std::span<const std::byte> ib);

}  // namespace urnic::conform::connections
