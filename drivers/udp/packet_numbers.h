// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Where the numbers stand in a RoCEv2 packet that say which process of a host it is for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/wire/headers.h"

namespace urnic::drivers::packet_numbers {

// Offsets count from the BTH on.
inline constexpr std::size_t kDestinationQp = transport::wire::Bth::kDestinationQpAt;
inline constexpr std::size_t kMad = transport::wire::Bth::kBytes + transport::wire::Deth::kBytes;
inline constexpr std::size_t kManagementClass = kMad + 1;
inline constexpr std::size_t kAttribute = kMad + 16;
inline constexpr std::size_t kFirstId = kMad + 24;  ///< the sender's; of a SIDR_REP the one that it answers
inline constexpr std::size_t kSecondId = kFirstId + 4;

inline constexpr std::uint32_t kQpOfManagement = 1;
inline constexpr std::uint8_t kCommunicationManagement = 0x07;
// Attributes.
inline constexpr std::uint16_t kReq = 0x10;
inline constexpr std::uint16_t kSidrReq = 0x17;
inline constexpr std::uint16_t kSidrRep = 0x18;

}  // namespace urnic::drivers::packet_numbers
