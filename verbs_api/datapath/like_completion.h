// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Completions as the NIC reports them that the device is like.
#pragma once

#include "nic/personality/personality.h"
#include "transport/completion.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// Fills `wc`; what that NIC leaves alone keeps what the program had there.
void write_like(const nic::Personality& like, const transport::Completion& completion, ibv_wc& wc);

/// wc_flags() with what that NIC adds.
unsigned int wc_flags_like(const nic::Personality& like, const transport::Completion& completion);

}  // namespace urnic::verbs_api
