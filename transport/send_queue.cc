// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/send_queue.h"

#include <algorithm>
#include <cassert>

#include "transport/queue_room.h"

namespace urnic::transport {

SendQueue::SendQueue(Limits limits, QueueMemory* memory)
    : limits_{.work_requests = granted_requests(limits.work_requests, limits.is_exact),
              .sges = limits.sges,
              .inline_bytes = limits.inline_bytes,
              .kept_bytes = limits.kept_bytes,
              .is_exact = limits.is_exact},
      mask_(places_for(limits_.work_requests) - 1),
      wqes_(places(), QueueKind::kSend, memory),
      // One element more than requested, so that the address of an empty place may be taken.
      sges_(places() * limits_.sges + 1, QueueKind::kSend, memory),
      data_(places() * data_bytes() + 1, QueueKind::kSend, memory) {}

void SendQueue::prepare(const SendRequest& request, std::span<const Sge> sges, std::uint32_t length) {
  assert(!is_full() && sges.size() <= limits_.sges);
  SendWqe& wqe = at(prepared_);
  wqe.request = QueuedRequest(request);
  wqe.length = length;
  wqe.sge_count = sges.size() & 0xff;
  wqe.is_inline = false;
  wqe.keep_was_tried = false;
  std::copy(sges.begin(), sges.end(), &sges_[std::size_t{prepared_ & mask_} * limits_.sges]);
  ++prepared_;
}

std::span<std::byte> SendQueue::prepare_inline(const SendRequest& request, std::uint32_t length) {
  assert(!is_full() && length <= limits_.inline_bytes);
  SendWqe& wqe = at(prepared_);
  wqe.request = QueuedRequest(request);
  wqe.length = length;
  wqe.sge_count = 0;
  wqe.is_inline = true;
  wqe.keep_was_tried = false;
  std::byte* const place = &data_[data_at(prepared_)];
  ++prepared_;
  return {place, length};
}

void SendQueue::clear() {
  show_all();
  prepared_ = 0;
  head_.store(0, std::memory_order_relaxed);
  tail_.store(0, std::memory_order_release);
}

}  // namespace urnic::transport
