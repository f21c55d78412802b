// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/datapath/completion.h"

#include "verbs_api/abi/newer_operations.h"

namespace urnic::verbs_api {

using transport::Completion;
using transport::CompletionOpcode;

ibv_wc_opcode wc_opcode(CompletionOpcode opcode) {
  switch (opcode) {
    case CompletionOpcode::kSend:
      return IBV_WC_SEND;
    case CompletionOpcode::kRdmaWrite:
      return IBV_WC_RDMA_WRITE;
    case CompletionOpcode::kRdmaRead:
      return IBV_WC_RDMA_READ;
    case CompletionOpcode::kCompareSwap:
      return IBV_WC_COMP_SWAP;
    case CompletionOpcode::kFetchAdd:
      return IBV_WC_FETCH_ADD;
    case CompletionOpcode::kAtomicWrite:
      return IBV_WC_ATOMIC_WRITE;
    case CompletionOpcode::kLocalInvalidate:
      return IBV_WC_LOCAL_INV;
    case CompletionOpcode::kBindWindow:
      return IBV_WC_BIND_MW;
    case CompletionOpcode::kFlush:
      return static_cast<ibv_wc_opcode>(kWcFlush);
    case CompletionOpcode::kReceive:
      return IBV_WC_RECV;
    case CompletionOpcode::kReceiveRdmaWithImmediate:
      return IBV_WC_RECV_RDMA_WITH_IMM;
  }
  return IBV_WC_SEND;
}

unsigned int wc_flags(const Completion& completion) {
  unsigned int flags = 0;
  if (completion.has_immediate) flags |= IBV_WC_WITH_IMM;
  if (completion.has_invalidate) flags |= IBV_WC_WITH_INV;
  if (completion.has_grh) flags |= IBV_WC_GRH;
  return flags;
}

std::uint8_t service_level(const Completion& completion) {
  constexpr std::uint8_t kIpv6 = 1;
  constexpr std::uint8_t kIpv4 = 2;
  if (!completion.has_grh) return 0;
  return completion.is_ipv4 ? kIpv4 : kIpv6;
}

ibv_wc to_wc(const Completion& completion) {
  ibv_wc wc{};
  wc.wr_id = completion.wr_id;
  wc.status = wc_status(completion.status);
  wc.opcode = wc_opcode(completion.opcode);
  wc.byte_len = completion.byte_length;
  wc.imm_data = completion.immediate;
  // The same place in memory, with a flag that says what it is.
  if (completion.has_invalidate) wc.invalidated_rkey = to_integer(completion.invalidated_rkey);
  wc.qp_num = to_integer(completion.qp_number);
  wc.src_qp = to_integer(completion.source_qp);
  wc.wc_flags = wc_flags(completion);
  wc.sl = service_level(completion);
  return wc;
}

}  // namespace urnic::verbs_api
