// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/datapath/send_request.h"

#include <cerrno>

#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/memory/mw.h"
#include "verbs_api/memory/pd.h"
#include "verbs_api/queues/ah.h"

namespace urnic::verbs_api {

using transport::Destination;
using transport::QpNumber;
using transport::Rkey;
using transport::SendOperation;
using transport::SendRequest;

namespace {

constexpr std::uint32_t kMaxSrqNumber = 0xffffff;

Result<SendOperation, int> operation_of(const ibv_wr_opcode& opcode) {
  switch (number_in(opcode)) {
    case IBV_WR_SEND:
      return SendOperation::kSend;
    case IBV_WR_SEND_WITH_IMM:
      return SendOperation::kSendWithImmediate;
    case IBV_WR_SEND_WITH_INV:
      return SendOperation::kSendWithInvalidate;
    case IBV_WR_RDMA_WRITE:
      return SendOperation::kWrite;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return SendOperation::kWriteWithImmediate;
    case IBV_WR_RDMA_READ:
      return SendOperation::kRead;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return SendOperation::kCompareSwap;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return SendOperation::kFetchAdd;
    case IBV_WR_ATOMIC_WRITE:
      return SendOperation::kAtomicWrite;
    case IBV_WR_LOCAL_INV:
      return SendOperation::kLocalInvalidate;
    case IBV_WR_BIND_MW:
      return SendOperation::kBindWindow;
    case IBV_WR_TSO:
    case IBV_WR_DRIVER1:
      return EOPNOTSUPP;
    default:
      return EINVAL;
  }
}

}  // namespace

Result<Destination, int> to_destination(const ibv_qp& qp, ibv_ah* ah, std::uint32_t remote_qpn,
                                        std::uint32_t remote_qkey) {
  if (ah == nullptr || remote_qpn > transport::kMaxQpNumber) return EINVAL;
  if (!is_same_domain(ah->pd, qp.pd)) return Destination{};
  return Destination{.address = Ah::of(ah).id(), .qp = QpNumber{remote_qpn}, .qkey = remote_qkey};
}

int read_request(const ibv_qp& qp, nic::QpType type, const ibv_send_wr& wr, SendRequest& request) {
  const auto operation = operation_of(wr.opcode);
  if (!operation) return operation.error();
  request.wr_id = wr.wr_id;
  request.operation = operation.value();
  request.signaled = (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  request.solicited = (wr.send_flags & IBV_SEND_SOLICITED) != 0;
  request.fence = (wr.send_flags & IBV_SEND_FENCE) != 0;
  request.immediate = wr.imm_data;
  switch (request.operation) {
    case SendOperation::kSendWithInvalidate:
    case SendOperation::kLocalInvalidate:
      request.invalidate_rkey = Rkey{wr.invalidate_rkey};
      break;
    case SendOperation::kWrite:
    case SendOperation::kWriteWithImmediate:
    case SendOperation::kRead:
    case SendOperation::kAtomicWrite:
      request.remote_address = wr.wr.rdma.remote_addr;
      request.rkey = Rkey{wr.wr.rdma.rkey};
      break;
    case SendOperation::kCompareSwap:
      request.compare = wr.wr.atomic.compare_add;
      request.swap_or_add = wr.wr.atomic.swap;
      request.remote_address = wr.wr.atomic.remote_addr;
      request.rkey = Rkey{wr.wr.atomic.rkey};
      break;
    case SendOperation::kFetchAdd:
      request.swap_or_add = wr.wr.atomic.compare_add;
      request.remote_address = wr.wr.atomic.remote_addr;
      request.rkey = Rkey{wr.wr.atomic.rkey};
      break;
    case SendOperation::kBindWindow: {
      const auto binding = to_type_2_binding(wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
      if (!binding) return binding.error();
      request.binding = binding.value();
      break;
    }
    default:
      break;
  }
  if (type == nic::QpType::kUd && is_send(request.operation)) {
    const auto destination = to_destination(qp, wr.wr.ud.ah, wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey);
    if (!destination) return destination.error();
    request.destination = destination.value();
  } else if (type == nic::QpType::kXrcInitiator) {
    request.xrc_srq = wr.qp_type.xrc.remote_srqn;
    if (request.xrc_srq > kMaxSrqNumber) return EINVAL;
  }
  return 0;
}

}  // namespace urnic::verbs_api
