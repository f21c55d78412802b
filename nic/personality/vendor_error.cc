// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/personality/vendor_error.h"

namespace urnic::nic {
namespace {

using enum transport::CompletionStatus;
using enum VendorErrors;
using transport::FailureDetail;

constexpr std::string_view kMeasured =
    "measured: the public fault characterization of unionxic, on a ConnectX-5 and a ConnectX-6";
constexpr std::string_view kFlushed =
    "measured: the public fault characterization of unionxic; reported: linux-nvme/nvme-cli issue 3268";
constexpr std::string_view kRead = "read: rdma-core, providers/irdma: the code of a flush, after 0x10000";

// What a ConnectX says of LOC_LEN, LOC_QP_OP, MW_BIND, BAD_RESP and REM_OP is in no source.
constexpr VendorErrorRow kVendorErrors[] = {
    {kMlx5, 0x33, kLocalProtectionError, FailureDetail::kNoRight, false,
     "a READ or an atomic writes to a region without IBV_ACCESS_LOCAL_WRITE", kMeasured},
    {kMlx5, 0x52, kLocalProtectionError, FailureDetail::kUnknownKey, false,
     "no memory region has the lkey of an element", kMeasured},
    {kMlx5, 0x53, kLocalProtectionError, FailureDetail::kOutOfBounds, false,
     "an element reaches beyond its memory region", kMeasured},
    {kMlx5, 0xf5, kWorkRequestFlushed, FailureDetail::kFirstFlushed, true,
     "the program has moved the queue pair to ERR, and this is the oldest request that was outstanding",
     kFlushed},
    {kMlx5, 0xf9, kWorkRequestFlushed, {}, true, "the request was flushed after another one", kFlushed},
    {kMlx5,
     0x81,
     kRetryExceeded,
     {},
     false,
     "no answer came: the peer's queue pair is in ERR or was destroyed, or its program was killed",
     kMeasured},
    {kMlx5, 0x87, kRnrRetryExceeded, {}, false, "the peer had no receive posted", kMeasured},
    {kMlx5,
     0x88,
     kRemoteAccessError,
     {},
     false,
     "the peer has no such rkey, the bytes are not all in the region, or the region lacks the right; the "
     "number does not tell which",
     kMeasured},
    {kMlx5,
     0x8a,
     kRemoteInvalidRequest,
     {},
     false,
     "the peer's queue pair takes no such request: qp_access_flags lack the right",
     kMeasured},
    {kIrdma, 0x10001, kWorkRequestFlushed, {}, true, "the request was flushed", kRead},
    {kIrdma,
     0x10002,
     kLocalProtectionError,
     {},
     true,
     "the key, the bounds or the rights of an element do not fit its memory region",
     kRead},
    {kIrdma,
     0x10003,
     kRemoteAccessError,
     {},
     true,
     "the key, the bounds or the rights of the remote memory do not fit",
     kRead},
    {kIrdma,
     0x10004,
     kLocalQpOperationError,
     {},
     true,
     "the queue pair cannot carry out the operation",
     kRead},
    {kIrdma, 0x10005, kRemoteOperationError, {}, true, "the peer has failed by a fault of its own", kRead},
    {kIrdma, 0x10006, kLocalLengthError, {}, true, "the message is longer than its receive", kRead},
    {kIrdma, 0x10008, kRetryExceeded, {}, true, "no answer came", kRead},
    {kIrdma, 0x10009, kMemoryWindowBindError, {}, true, "a memory window could not be bound", kRead},
    {kIrdma, 0x1000a, kRemoteInvalidRequest, {}, true, "the peer does not take such a request", kRead},
    {kIrdma, 0x1000b, kRnrRetryExceeded, {}, true, "the peer had no receive posted", kRead},
};

}  // namespace

std::span<const VendorErrorRow> vendor_error_rows() {
  return kVendorErrors;
}

std::uint32_t vendor_error(VendorErrors kind, const transport::Completion& completion) {
  for (const VendorErrorRow& row : kVendorErrors) {
    if (row.kind != kind || row.status != completion.status) continue;
    if (row.detail && row.detail != completion.detail) continue;
    if (!row.is_of_receives && is_receive(completion.opcode)) continue;
    return row.number;
  }
  return 0;
}

}  // namespace urnic::nic
