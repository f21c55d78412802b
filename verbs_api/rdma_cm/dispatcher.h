// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The kernel's ucma interface (ABI 4): what a program gets for what it writes to a channel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs_api/rdma_cm/channel.h"

namespace urnic::verbs_api {

/// The program wants to wait for an event.
inline constexpr int kNoEventYet = -1;

/// Carries out the command at `address` in the program's memory, `size` bytes with its header: all that the
/// program says may be wrong. 0, an errno value, or kNoEventYet. Waits for nothing.
int write_command(Channel& channel, std::uint64_t address, std::size_t size);

}  // namespace urnic::verbs_api
