// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Faults of what completions say.
#pragma once

#include <span>

#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// Gives completions that the program has just polled the statuses that the user named. The queue pair of a
/// completion that fails goes to ERR, and its later sends, or else its later receives, are flushed.
void spoil_completions(ibv_cq& cq, std::span<ibv_wc> completions);

}  // namespace urnic::verbs_api
