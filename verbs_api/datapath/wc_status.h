// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// libibverbs' number for each completion status.
#pragma once

#include "transport/completion.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

constexpr ibv_wc_status wc_status(transport::CompletionStatus status) {
  using transport::CompletionStatus;
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
    case CompletionStatus::kMemoryWindowBindError:
      return IBV_WC_MW_BIND_ERR;
    case CompletionStatus::kBadResponse:
      return IBV_WC_BAD_RESP_ERR;
    case CompletionStatus::kLocalAccessError:
      return IBV_WC_LOC_ACCESS_ERR;
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

}  // namespace urnic::verbs_api
