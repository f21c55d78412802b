// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/datapath/like_completion.h"

#include "nic/personality/vendor_error.h"
#include "verbs_api/datapath/completion.h"

namespace urnic::verbs_api {
namespace {

using nic::UndefinedFields;
using transport::Completion;
using transport::CompletionStatus;

/// What is defined, of whatever is not a success.
void write_identity(const Completion& completion, ibv_wc& wc) {
  wc.wr_id = completion.wr_id;
  wc.status = wc_status(completion.status);
  wc.qp_num = to_integer(completion.qp_number);
}

/// A send of mlx5: READs and atomics have a length, and nothing else has.
void write_untouched_send(const nic::Personality& like, const Completion& completion, ibv_wc& wc) {
  write_identity(completion, wc);
  wc.opcode = wc_opcode(completion.opcode);
  wc.wc_flags = wc_flags_like(like, completion);
  switch (completion.opcode) {
    case transport::CompletionOpcode::kRdmaRead:
    case transport::CompletionOpcode::kCompareSwap:
    case transport::CompletionOpcode::kFetchAdd:
      wc.byte_len = completion.byte_length;
      break;
    default:
      break;
  }
}

void write_failure(const nic::Personality& like, const Completion& completion, ibv_wc& wc) {
  switch (like.failed_completion) {
    case UndefinedFields::kUntouched:
      write_identity(completion, wc);
      wc.wc_flags = 0;
      break;
    case UndefinedFields::kZero:
      wc = {};
      write_identity(completion, wc);
      break;
    case UndefinedFields::kOwnNumber:
      wc = to_wc(completion);
      wc.src_qp = wc.qp_num;
      break;
    case UndefinedFields::kFilled:
      wc = to_wc(completion);
      break;
  }
  wc.vendor_err = nic::vendor_error(like.vendor_errors, completion);
}

}  // namespace

unsigned int wc_flags_like(const nic::Personality& like, const Completion& completion) {
  const bool is_received = completion.status == CompletionStatus::kSuccess && is_receive(completion.opcode);
  const bool has_grh = is_received && like.grh_flag == nic::GrhFlag::kEvery;
  return wc_flags(completion) | (has_grh ? unsigned{IBV_WC_GRH} : 0);
}

void write_like(const nic::Personality& like, const Completion& completion, ibv_wc& wc) {
  if (completion.status != CompletionStatus::kSuccess) return write_failure(like, completion, wc);
  const UndefinedFields fields = like.successful_send;
  const std::uint32_t vendor_error_before = wc.vendor_err;
  if (fields == UndefinedFields::kUntouched && !is_receive(completion.opcode)) {
    return write_untouched_send(like, completion, wc);
  }
  wc = to_wc(completion);
  wc.wc_flags = wc_flags_like(like, completion);
  // Where a send's fields are not all written, vendor_err of a success is not either.
  if (fields == UndefinedFields::kUntouched || fields == UndefinedFields::kOwnNumber) {
    wc.vendor_err = vendor_error_before;
  }
  if (fields == UndefinedFields::kOwnNumber && !completion.has_grh) wc.src_qp = wc.qp_num;
}

}  // namespace urnic::verbs_api
