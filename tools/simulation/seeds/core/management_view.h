// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ManagementView: a message of the connection manager as the wire observer reads it.
//
// It reads as `urnic check` does, which shares no code with nic/cm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tools/conformance/check/cm/message.h"

namespace urnic::sim {

using check::CmKind;
using check::CmMessage;

/// Where connection managers talk (fact 44).
inline constexpr std::uint32_t kManagementQp = 1;

/// Whether the frame is a datagram for queue pair 1.
bool is_management(std::span<const std::byte> frame);

/// Reads a frame for which is_management(); nothing when it cannot be understood.
std::optional<CmMessage> read_management(std::span<const std::byte> frame);

}  // namespace urnic::sim
