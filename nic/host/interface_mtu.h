// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a network interface of the host carries.
#pragma once

#include <cstdint>
#include <string>

#include "transport/result.h"

namespace urnic::nic {

/// The MTU of a network interface, in bytes of an IP packet; 65535 where it is larger. The error is the
/// system's, with the interface's name: there is none of it.
Result<std::uint16_t, Error> interface_mtu(const std::string& interface);

/// Whether it is up and has a carrier.
bool interface_is_running(const std::string& interface);

}  // namespace urnic::nic
