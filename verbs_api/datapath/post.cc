// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fmt/core.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "verbs_api/abi/operations.h"
#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/datapath/post_failure.h"
#include "verbs_api/datapath/send_request.h"
#include "verbs_api/device/context.h"
#include "verbs_api/memory/mw.h"
#include "verbs_api/queues/fixed_length.h"
#include "verbs_api/queues/post_error.h"
#include "verbs_api/queues/qp.h"
#include "verbs_api/queues/sge_array.h"
#include "verbs_api/queues/srq.h"
#include "verbs_api/queues/wq.h"
#include "verbs_api/sanitizer/sanitizer.h"

namespace urnic::verbs_api {

using nic::PostStatus;

namespace {

bool is_element_count(int count) {
  return count >= 0 && static_cast<std::size_t>(count) <= SgeArray::kCapacity;
}

int post_one(ibv_qp& qp, nic::QueuePair::SendBatch& batch, const ibv_send_wr& wr) {
  constexpr unsigned int kKnownFlags =
      IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

  transport::SendRequest request;
  if (const int error = read_request(qp, Qp::of(&qp).inner->attributes().type, wr, request); error != 0) {
    return error;
  }
  const nic::QueuePair& inner = *Qp::of(&qp).inner;
  if ((wr.send_flags & ~kKnownFlags) != 0 || wr.num_sge < 0) return EINVAL;
  if (!is_element_count(wr.num_sge)) return errno_of_send(PostStatus::kTooManySges, inner, false);
  const bool is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
  if (is_local(request.operation)) {
    if (is_inline) return EINVAL;
    const PostStatus status = batch.post(request, {});  // has no use for elements
    if (status == PostStatus::kPosted && request.operation == transport::SendOperation::kBindWindow) {
      show_key(*wr.bind_mw.mw, request.binding.new_rkey);
    }
    return errno_of(status);
  }
  const SgeArray sges(wr.sg_list, static_cast<std::size_t>(wr.num_sge));
  if (!is_right_length(request, sges.elements())) return EINVAL;
  if (!is_inline) return errno_of_send(batch.post(request, sges.elements()), inner, false);
  if (!sends_data(request.operation)) {
    return EINVAL;  // there is nothing to send
  }
  return errno_of_send(batch.post_inline(request, sges.elements()), inner, true);
}

/// Into a queue pair's own queue or a shared one.
template <typename Batch>
int post_one(Batch& batch, const ibv_recv_wr& wr) {
  if (!is_element_count(wr.num_sge)) return EINVAL;
  const SgeArray sges(wr.sg_list, static_cast<std::size_t>(wr.num_sge));
  return errno_of(batch.post({.wr_id = wr.wr_id}, sges.elements()));
}

/// Posts the list up to the first work request that is refused, which `bad` then names; those before it stay
/// posted. `begin` makes the batch, and is not called when the context is dead; `post_to` posts one to it.
template <typename Queue, typename WorkRequest, typename Begin, typename PostTo>
int post_list(Queue* queue, WorkRequest* first, WorkRequest** bad, Begin begin, PostTo post_to) {
  const Context& owner = Context::of(queue->context);
  int error = owner.is_dead() ? owner.dead_error() : 0;
  WorkRequest* wr = first;
  if (error == 0) [[likely]] {
    auto batch = begin();
    for (; wr != nullptr; wr = wr->next) {
      error = post_to(batch, *wr);
      if (error != 0) break;
    }
  }
  if (error != 0) [[unlikely]] {
    if (bad != nullptr) *bad = wr;
    if (wr != nullptr) explain_post(*queue, *wr, error);
  }
  return error;
}

void check_flags(const std::string& name, std::uint64_t wr_id, unsigned int flags) {
  constexpr unsigned int kExisting =
      IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE | IBV_SEND_IP_CSUM;
  if ((flags & ~kExisting) == 0) return;
  sanitizer().complain(Finding::kUnknownSendFlags, name,
                       [&] { return fmt::format("send_flags of wr_id {} are {:#x}", wr_id, flags); });
}

int post_sends(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) {
  return post_list(
      qp, first, bad, [qp] { return nic::QueuePair::SendBatch(*Qp::of(qp).inner); },
      [qp](auto& batch, const ibv_send_wr& wr) { return post_one(*qp, batch, wr); });
}

/// A number that tells one request from the next in the same place.
std::uint64_t content_of(const ibv_send_wr& wr) {
  std::uint64_t content = wr.wr_id * 31 + wr.wr.rdma.remote_addr;
  if (wr.num_sge > 0) content = content * 31 + wr.sg_list->addr + wr.sg_list->length;
  return content * 31 + std::uint64_t{number_in(wr.opcode)};
}

/// The same for the sanitizer.
int post_watched(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) {
  // In the child of a fork, a thread that is not there any more may have the ledger's lock.
  if (Context::of(qp->context).is_dead()) return post_sends(qp, first, bad);
  QpLedger& ledger = *Qp::of(qp).ledger;
  const PostedList list{.first = first, .content = first != nullptr ? content_of(*first) : 0};
  ledger.list_begins(list);
  ibv_send_wr* refused = nullptr;
  const int error = post_sends(qp, first, &refused);
  if (error != 0 && bad != nullptr) *bad = refused;
  std::size_t taken = 0;
  const ibv_send_wr* wr = first;
  for (; wr != nullptr && wr != refused; wr = wr->next) {
    check_flags(ledger.name(), wr->wr_id, wr->send_flags);
    ++taken;
  }
  if (wr != nullptr) check_flags(ledger.name(), wr->wr_id, wr->send_flags);
  ledger.list_ends(list, error, wr != nullptr ? wr->wr_id : 0, taken);
  return error;
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) noexcept {
  if (Qp::of(qp).ledger != nullptr) [[unlikely]] {
    return post_watched(qp, first, bad);
  }
  return post_sends(qp, first, bad);
}

int post_receive(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept {
  return post_list(
      qp, first, bad, [qp] { return nic::QueuePair::ReceiveBatch(*Qp::of(qp).inner); },
      [](auto& batch, const ibv_recv_wr& wr) { return post_one(batch, wr); });
}

int post_wq_receive(ibv_wq* wq, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept {
  return post_list(
      wq, first, bad, [wq] { return nic::QueuePair::ReceiveBatch(*Wq::of(wq).inner); },
      [](auto& batch, const ibv_recv_wr& wr) { return post_one(batch, wr); });
}

int post_srq_receive(ibv_srq* srq, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept {
  return post_list(
      srq, first, bad, [srq] { return nic::SharedReceiveQueue::Batch(*Srq::of(srq).inner); },
      [](auto& batch, const ibv_recv_wr& wr) { return post_one(batch, wr); });
}

}  // namespace urnic::verbs_api
