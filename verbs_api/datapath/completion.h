// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// From the transport's completions to libibverbs' words for them.
#pragma once

#include <cstdint>

#include "transport/completion.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/datapath/wc_status.h"

namespace urnic::verbs_api {

ibv_wc_opcode wc_opcode(transport::CompletionOpcode opcode);
unsigned int wc_flags(const transport::Completion& completion);
/// Of a datagram: which header stands in its GRH area, in the low bits, as mlx5 reports it for RoCEv2. UCX up
/// to 1.18 drops datagrams for which it is 0.
std::uint8_t service_level(const transport::Completion& completion);
ibv_wc to_wc(const transport::Completion& completion);

}  // namespace urnic::verbs_api
