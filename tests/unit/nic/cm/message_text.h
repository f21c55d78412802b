// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Messages of the connection manager as text, for comparisons.
#pragma once

#include <string>

#include "nic/cm/message.h"

namespace urnic::nic::cm {

/// "REQ tid=1 local=2 ...": see captured_messages.h.
std::string describe(const Mad& mad);

}  // namespace urnic::nic::cm
