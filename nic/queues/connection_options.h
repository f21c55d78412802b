// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ConnectionOptions: what both ends of a connection must have before either uses it.
#pragma once

#include <cstdint>

#include "nic/config.h"
#include "nic/queues/qp_type.h"
#include "transport/qp_config.h"

namespace urnic::nic {

/// A set of bits, which ECE (enhanced connection establishment) exchanges as the options of urnic's vendor
/// id.
using ConnectionOptions = std::uint32_t;

/// Bit 0: selective repeat (transport/rc/recovery/SELECTIVE_REPEAT.md).
inline constexpr ConnectionOptions kSelectiveRepeatOption = 1u << 0;

constexpr ConnectionOptions options_of(transport::Recovery recovery) {
  return recovery == transport::Recovery::kSelectiveRepeat ? kSelectiveRepeatOption : 0;
}
constexpr transport::Recovery recovery_of(ConnectionOptions options) {
  return (options & kSelectiveRepeatOption) != 0 ? transport::Recovery::kSelectiveRepeat
                                                 : transport::Recovery::kGoBackN;
}

/// What queue pairs of this type offer their peers.
constexpr ConnectionOptions offered_options(QpType type, const DeviceConfig& device) {
  return type == QpType::kRc ? options_of(device.recovery) : 0;
}

}  // namespace urnic::nic
