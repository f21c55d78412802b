// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the port says about itself, to ibv_query_port() and in files.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace urnic::verbs_api {

// Codes of PortInfo. No link has a rate here; 4 lanes of 10 Gb/s are about what a core can move, and what
// programs that estimate costs should count with.
inline constexpr std::uint8_t kWidth4x = 2;
inline constexpr std::uint8_t kSpeed10Gbps = 4;
inline constexpr std::uint64_t kSpeedIn100Mbps = 400;  ///< the same
inline constexpr const char* kRateText = "40 Gb/sec (4X QDR)";

/// It has a connection manager, and GIDs made from IP addresses.
inline constexpr std::uint32_t kPortCapabilities = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;

}  // namespace urnic::verbs_api
