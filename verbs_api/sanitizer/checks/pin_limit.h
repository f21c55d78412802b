// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How much memory a NIC with a kernel driver could pin for this process.
#pragma once

#include <cstdint>

namespace urnic::verbs_api {

/// RLIMIT_MEMLOCK in bytes; no limit for a process that has CAP_IPC_LOCK.
std::uint64_t pin_limit();

}  // namespace urnic::verbs_api
