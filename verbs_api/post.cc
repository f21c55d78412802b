#include "verbs_api/post.h"

#include <cerrno>
#include <cstddef>

#include "transport/result.h"
#include "verbs_api/context.h"
#include "verbs_api/operations.h"
#include "verbs_api/qp.h"
#include "verbs_api/sge_array.h"
#include "verbs_api/untrusted_enum.h"

namespace urnic::verbs_api {

using nic::PostStatus;
using transport::SendOperation;
using transport::SendRequest;

int errno_of(PostStatus status) {
  switch (status) {
    case PostStatus::kPosted:
      return 0;
    case PostStatus::kQueueFull:
      return ENOMEM;
    case PostStatus::kTooManySges:
    case PostStatus::kTooLong:
    case PostStatus::kWrongState:
    case PostStatus::kBadRequest:
      return EINVAL;
    case PostStatus::kNotSupported:
      return EOPNOTSUPP;
    case PostStatus::kAbandoned:
      return EIO;
  }
  return EINVAL;
}

namespace {

/// EOPNOTSUPP for what libibverbs knows and we do not do, EINVAL for numbers that nobody knows.
Result<SendOperation, int> operation_of(const ibv_wr_opcode& opcode) {
  switch (number_in(opcode)) {
    case IBV_WR_SEND:
      return SendOperation::kSend;
    case IBV_WR_SEND_WITH_IMM:
      return SendOperation::kSendWithImmediate;
    case IBV_WR_RDMA_WRITE:
      return SendOperation::kWrite;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return SendOperation::kWriteWithImmediate;
    case IBV_WR_RDMA_READ:
      return SendOperation::kRead;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_ATOMIC_WRITE:
    case IBV_WR_LOCAL_INV:
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_BIND_MW:
    case IBV_WR_TSO:
    case IBV_WR_DRIVER1:
      return EOPNOTSUPP;
    default:
      return EINVAL;
  }
}

SendRequest to_request(const ibv_send_wr& wr, SendOperation operation) {
  SendRequest request{
      .wr_id = wr.wr_id,
      .operation = operation,
      .signaled = (wr.send_flags & IBV_SEND_SIGNALED) != 0,
      .solicited = (wr.send_flags & IBV_SEND_SOLICITED) != 0,
      .fence = (wr.send_flags & IBV_SEND_FENCE) != 0,
      .immediate = wr.imm_data,
  };
  if (operation != SendOperation::kSend && operation != SendOperation::kSendWithImmediate) {
    request.remote_address = wr.wr.rdma.remote_addr;
    request.rkey = transport::Rkey{wr.wr.rdma.rkey};
  }
  return request;
}

bool is_element_count(int count) {
  return count >= 0 && static_cast<std::size_t>(count) <= SgeArray::kCapacity;
}

int post_one(nic::QueuePair::SendBatch& batch, const ibv_send_wr& wr) {
  constexpr unsigned int kKnownFlags =
      IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

  const auto operation = operation_of(wr.opcode);
  if (!operation) {
    return operation.error();
  }
  if ((wr.send_flags & ~kKnownFlags) != 0 || !is_element_count(wr.num_sge)) {
    return EINVAL;
  }
  const SendRequest request = to_request(wr, operation.value());
  const SgeArray sges(wr.sg_list, static_cast<std::size_t>(wr.num_sge));
  if ((wr.send_flags & IBV_SEND_INLINE) == 0) {
    return errno_of(batch.post(request, sges.elements()));
  }
  if (!sends_data(request.operation)) {
    return EINVAL;  // there is nothing to send
  }
  return errno_of(batch.post_inline(request, sges.elements()));
}

int post_one(nic::QueuePair::ReceiveBatch& batch, const ibv_recv_wr& wr) {
  if (!is_element_count(wr.num_sge)) {
    return EINVAL;
  }
  const SgeArray sges(wr.sg_list, static_cast<std::size_t>(wr.num_sge));
  return errno_of(batch.post({.wr_id = wr.wr_id}, sges.elements()));
}

/// Posts the list up to the first work request that is refused, which `bad` then names; those before it stay
/// posted.
template <typename Batch, typename WorkRequest>
int post_list(ibv_qp* qp, WorkRequest* first, WorkRequest** bad) {
  const Context& owner = Context::of(qp->context);
  int error = owner.is_dead() ? owner.dead_error() : 0;
  WorkRequest* wr = first;
  if (error == 0) [[likely]] {
    Batch batch(*Qp::of(qp).inner);
    for (; wr != nullptr; wr = wr->next) {
      error = post_one(batch, *wr);
      if (error != 0) {
        break;
      }
    }
  }
  if (error != 0 && bad != nullptr) {
    *bad = wr;
  }
  return error;
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) noexcept {
  return post_list<nic::QueuePair::SendBatch>(qp, first, bad);
}

int post_receive(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept {
  return post_list<nic::QueuePair::ReceiveBatch>(qp, first, bad);
}

}  // namespace urnic::verbs_api
