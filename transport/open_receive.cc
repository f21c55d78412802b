// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/open_receive.h"

#include <cassert>

#include "transport/scatter_gather.h"

namespace urnic::transport {

std::optional<std::uint32_t> OpenReceive::room() const {
  if (is_taken_) return wqe_.length;
  const ReceiveQueue& queue = *deps_.receiver.queue;
  return queue.is_empty() ? std::nullopt : std::optional(queue.front_length());
}

bool OpenReceive::take() {
  is_taken_ = is_taken_ || deps_.receiver.queue->take(wqe_);
  return is_taken_;
}

DmaStatus OpenReceive::write(std::uint32_t offset, std::span<const std::byte> bytes) {
  assert(is_taken_ && offset + bytes.size() <= wqe_.length);
  return scatter(deps_.dma, deps_.receiver.pd, wqe_.elements(), offset, bytes);
}

void OpenReceive::complete(Completion completion) {
  assert(is_taken_);
  is_taken_ = false;
  completion.wr_id = wqe_.wr_id;
  completion.qp_number = config_.local_qp;
  completion.origin = deps_.receiver.srq;
  if (completion.status == CompletionStatus::kSuccess) deps_.counters.add(Counter::kReceivesCompleted);
  deps_.receiver.completions->complete(completion);
}

void OpenReceive::fail(CompletionStatus status) {
  deps_.counters.add(Counter::kReceiveCompletionError);
  if (deps_.observer != nullptr && status == CompletionStatus::kLocalProtectionError) {
    deps_.observer->on_local_fault({.elements = wqe_.elements(), .pd = deps_.receiver.pd, .is_write = true});
  }
  report_failure(status);
}

void OpenReceive::flush() {
  if (is_taken_) report_failure(CompletionStatus::kWorkRequestFlushed);
  if (deps_.receiver.is_shared || deps_.receiver.queue == nullptr) return;
  while (take()) report_failure(CompletionStatus::kWorkRequestFlushed);
}

void OpenReceive::report_failure(CompletionStatus status) {
  if (status == CompletionStatus::kWorkRequestFlushed) deps_.counters.add(Counter::kReceivesFlushed);
  complete({.status = status,
            .opcode = CompletionOpcode::kReceive,
            .solicited = true,
            .source_qp = config_.remote_qp});
}

}  // namespace urnic::transport
