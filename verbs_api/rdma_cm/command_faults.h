// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Faults of librdmacm's calls, which are commands to a channel.
#pragma once

#include <cstdint>
#include <optional>

#include "verbs_api/rdma_cm/command.h"

namespace urnic::verbs_api::ucm {

/// What the command returns by a fault, instead of what it is for: an errno value, or 0 where an event
/// follows. Nothing: it is to be carried out.
std::optional<int> injected_result(std::uint32_t number, const Command& command);

}  // namespace urnic::verbs_api::ucm
