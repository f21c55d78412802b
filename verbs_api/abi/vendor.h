// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the device says when a program asks for its vendor.
#pragma once

#include <cstdint>

namespace urnic::verbs_api {

/// Not 0, because some programs take that for "no device", and no maker's: those have quirks attached. It is
/// a locally administered OUI (bit 1 of the first octet) with "ur" in it.
inline constexpr std::uint32_t kVendorId = 0x027572;
inline constexpr std::uint32_t kVendorPartId = 1;
/// On the PCI bus, where files show the device: the OUI's last 16 bits, which no maker has, and the part. As
/// with other makers' cards the two buses have different numbers for one vendor and the same for a part.
inline constexpr std::uint16_t kPciVendorId = kVendorId & 0xffff;
inline constexpr std::uint16_t kPciDeviceId = kVendorPartId;
inline constexpr const char* kBoardId = "URNIC0000001";

}  // namespace urnic::verbs_api
