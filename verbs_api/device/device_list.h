// The devices that programs can choose from: one.
#pragma once

#include <cstdint>

#include "nic/device/device.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// The node GUID: the EUI-64 of the MAC, which is also the end of the link-local GID. Network byte order.
__be64 node_guid(const nic::Device& nic);

}  // namespace urnic::verbs_api
