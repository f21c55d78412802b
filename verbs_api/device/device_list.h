// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The devices that programs can choose from.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/device/device.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// The node GUID: the EUI-64 of the MAC, which is also the end of the link-local GID. Network byte order.
__be64 node_guid(const nic::Device& nic);

/// The device as programs have it.
ibv_device& device_of(const nic::Device& nic);
/// The number of a device of the process's; nothing when it is not one of them.
std::optional<unsigned> number_of(const ibv_device& device);

}  // namespace urnic::verbs_api
