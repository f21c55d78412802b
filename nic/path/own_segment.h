// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which addresses are on the same network segment as a NIC.
#pragma once

#include "nic/config.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// Whether the address is in a network of the NIC's own, by the lengths of its prefixes, or is link-local.
bool is_on_own_segment(const DeviceConfig& config, const transport::wire::Gid& address);

}  // namespace urnic::nic
