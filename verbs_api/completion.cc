#include "verbs_api/completion.h"

namespace urnic::verbs_api {

using transport::Completion;
using transport::CompletionOpcode;
using transport::CompletionStatus;

ibv_wc_status wc_status(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kSuccess:
      return IBV_WC_SUCCESS;
    case CompletionStatus::kLocalLengthError:
      return IBV_WC_LOC_LEN_ERR;
    case CompletionStatus::kLocalQpOperationError:
      return IBV_WC_LOC_QP_OP_ERR;
    case CompletionStatus::kLocalProtectionError:
      return IBV_WC_LOC_PROT_ERR;
    case CompletionStatus::kWorkRequestFlushed:
      return IBV_WC_WR_FLUSH_ERR;
    case CompletionStatus::kBadResponse:
      return IBV_WC_BAD_RESP_ERR;
    case CompletionStatus::kRemoteInvalidRequest:
      return IBV_WC_REM_INV_REQ_ERR;
    case CompletionStatus::kRemoteAccessError:
      return IBV_WC_REM_ACCESS_ERR;
    case CompletionStatus::kRemoteOperationError:
      return IBV_WC_REM_OP_ERR;
    case CompletionStatus::kRetryExceeded:
      return IBV_WC_RETRY_EXC_ERR;
    case CompletionStatus::kRnrRetryExceeded:
      return IBV_WC_RNR_RETRY_EXC_ERR;
  }
  return IBV_WC_GENERAL_ERR;
}

ibv_wc_opcode wc_opcode(CompletionOpcode opcode) {
  switch (opcode) {
    case CompletionOpcode::kSend:
      return IBV_WC_SEND;
    case CompletionOpcode::kRdmaWrite:
      return IBV_WC_RDMA_WRITE;
    case CompletionOpcode::kRdmaRead:
      return IBV_WC_RDMA_READ;
    case CompletionOpcode::kReceive:
      return IBV_WC_RECV;
    case CompletionOpcode::kReceiveRdmaWithImmediate:
      return IBV_WC_RECV_RDMA_WITH_IMM;
  }
  return IBV_WC_SEND;
}

unsigned int wc_flags(const Completion& completion) {
  return completion.has_immediate ? IBV_WC_WITH_IMM : 0;
}

ibv_wc to_wc(const Completion& completion) {
  ibv_wc wc{};
  wc.wr_id = completion.wr_id;
  wc.status = wc_status(completion.status);
  wc.opcode = wc_opcode(completion.opcode);
  wc.byte_len = completion.byte_length;
  wc.imm_data = completion.immediate;
  wc.qp_num = to_integer(completion.qp_number);
  wc.src_qp = to_integer(completion.source_qp);
  wc.wc_flags = wc_flags(completion);
  return wc;
}

}  // namespace urnic::verbs_api
