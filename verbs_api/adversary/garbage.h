// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Random values where the rules promise none.
#pragma once

#include <cstdint>

#include "nic/adversary/adversary.h"
#include "transport/completion.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// In fields of `wc` that mean nothing in it. `ordinal` tells completions apart.
void spoil(ibv_wc& wc, const transport::Completion& completion, nic::Adversary& adversary,
           std::uint64_t ordinal);
/// In what the functions of an extended queue read of a completion; not its opcode.
void spoil(transport::Completion& completion, nic::Adversary& adversary, std::uint64_t ordinal);
/// In attributes that `mask` does not name.
void spoil_unrequested(ibv_qp_attr& attributes, int mask, nic::Adversary& adversary, std::uint32_t qp_number);

}  // namespace urnic::verbs_api
