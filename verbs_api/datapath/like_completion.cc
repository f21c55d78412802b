// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/datapath/like_completion.h"

#include "verbs_api/datapath/completion.h"

namespace urnic::verbs_api {
namespace {

using nic::UndefinedFields;
using transport::Completion;
using transport::CompletionStatus;
using transport::FailureDetail;

// Of mlx5, measured on ConnectX-5 and ConnectX-6 by the public fault characterization of unionxic; the two of
// flushed requests also by users (linux-nvme/nvme-cli issue 3268).
constexpr std::uint32_t kMlx5UnknownKey = 0x52;
constexpr std::uint32_t kMlx5OutOfBounds = 0x53;
constexpr std::uint32_t kMlx5NoRight = 0x33;
constexpr std::uint32_t kMlx5FirstFlushed = 0xf5;
constexpr std::uint32_t kMlx5Flushed = 0xf9;

std::uint32_t mlx5_memory_error(FailureDetail detail) {
  switch (detail) {
    case FailureDetail::kUnknownKey:
      return kMlx5UnknownKey;
    case FailureDetail::kOutOfBounds:
      return kMlx5OutOfBounds;
    case FailureDetail::kNoRight:
      return kMlx5NoRight;
    case FailureDetail::kNone:
    case FailureDetail::kFirstFlushed:
      break;
  }
  return 0;
}

std::uint32_t mlx5_error(const Completion& completion) {
  if (completion.status == CompletionStatus::kWorkRequestFlushed) {
    return completion.detail == FailureDetail::kFirstFlushed ? kMlx5FirstFlushed : kMlx5Flushed;
  }
  if (is_receive(completion.opcode)) return 0;
  switch (completion.status) {
    case CompletionStatus::kLocalProtectionError:
      return mlx5_memory_error(completion.detail);
    case CompletionStatus::kRemoteInvalidRequest:
      return 0x8a;
    case CompletionStatus::kRemoteAccessError:
      return 0x88;
    case CompletionStatus::kRetryExceeded:
      return 0x81;
    case CompletionStatus::kRnrRetryExceeded:
      return 0x87;
    default:
      return 0;
  }
}

/// The major code of flushed work, and the minor one (rdma-core, providers/irdma/user.h).
std::uint32_t irdma_error(CompletionStatus status) {
  constexpr std::uint32_t kFlushed = 1u << 16;
  switch (status) {
    case CompletionStatus::kWorkRequestFlushed:
      return kFlushed | 1;
    case CompletionStatus::kLocalProtectionError:
      return kFlushed | 2;
    case CompletionStatus::kRemoteAccessError:
      return kFlushed | 3;
    case CompletionStatus::kLocalQpOperationError:
      return kFlushed | 4;
    case CompletionStatus::kRemoteOperationError:
      return kFlushed | 5;
    case CompletionStatus::kLocalLengthError:
      return kFlushed | 6;
    case CompletionStatus::kRetryExceeded:
      return kFlushed | 8;
    case CompletionStatus::kMemoryWindowBindError:
      return kFlushed | 9;
    case CompletionStatus::kRemoteInvalidRequest:
      return kFlushed | 0xa;
    case CompletionStatus::kRnrRetryExceeded:
      return kFlushed | 0xb;
    case CompletionStatus::kSuccess:
    case CompletionStatus::kBadResponse:
    case CompletionStatus::kLocalAccessError:
      break;
  }
  return 0;
}

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
  wc.vendor_err = vendor_error(like, completion);
}

}  // namespace

std::uint32_t vendor_error(const nic::Personality& like, const Completion& completion) {
  switch (like.vendor_errors) {
    case nic::VendorErrors::kMlx5:
      return mlx5_error(completion);
    case nic::VendorErrors::kIrdma:
      return irdma_error(completion.status);
    case nic::VendorErrors::kZero:
      break;
  }
  return 0;
}

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
