// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Identity: whom a device says to be.
#pragma once

#include <cstdint>
#include <string_view>

#include "nic/personality/personality.h"

namespace urnic::nic {

/// By the names of ibv_device_attr; `board_id` and `hca_type` are files of the device.
struct Identity {
  std::uint32_t vendor_id;
  std::uint32_t vendor_part_id;
  std::uint32_t hw_ver;
  std::string_view fw_ver;
  std::string_view board_id;  ///< empty: its driver has no such file
  std::string_view hca_type;  ///< likewise
  std::string_view source;    ///< where that is known from
};

/// Null for a column that is no other NIC. Lives as long as the program.
const Identity* identity_of(Column column);

}  // namespace urnic::nic
