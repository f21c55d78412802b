// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the host's routes say.
#pragma once

#include <cstdint>

#include "nic/port/host_route.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// Of this host's kernel; see HostRoutes. The MTU is the route's, or what a router on the way has said since.
Result<HostRoute, Error> host_route_to(const Way& way);

}  // namespace urnic::nic
