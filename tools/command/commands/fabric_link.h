// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic fabric link`: takes the link of a NIC down, and up again.
#pragma once

#include <string>

#include "transport/result.h"

namespace urnic::tools {

/// Of the NIC on that fabric that has the address. The error is for a person: ENOENT where there is none.
Result<void, Error> set_fabric_link(const std::string& fabric, const std::string& address, bool is_up);

}  // namespace urnic::tools
