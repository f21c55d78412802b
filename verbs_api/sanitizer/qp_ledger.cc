// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/qp_ledger.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace urnic::verbs_api {
namespace {

using nic::PostStatus;
using transport::SendOperation;
using transport::Sge;

constexpr std::uint32_t kDatagramHeaderBytes = 40;
constexpr std::uint64_t kAtomicAlignment = 8;

}  // namespace

QpLedger::QpLedger(QpFacts facts, const MemoryLedger& memory, Complaints& complaints)
    : facts_(std::move(facts)),
      memory_(memory),
      complaints_(complaints),
      sends_(facts_.name, facts_.sends, facts_.is_all_signaled, memory.writes(), complaints),
      receives_(facts_.name, facts_.receives, complaints) {}

QpLedger::~QpLedger() {
  if (facts_.send_cq != nullptr) facts_.send_cq->expect(-std::int64_t{sends_.signaled()});
}

void QpLedger::on_send(const transport::SendRequest& request, std::span<const Sge> elements,
                       PostStatus status) {
  if (status != PostStatus::kPosted) return check_refused(request, status);
  const bool is_written = has_response(request.operation) && !sends_data(request.operation);
  memory_.check(
      {.name = facts_.name, .domain = facts_.domain, .wr_id = request.wr_id, .is_written = is_written},
      elements);
  check_atomic(request);
  std::vector<BufferPrint> prints;
  if (sends_data(request.operation)) prints = memory_.prints(elements);
  const std::lock_guard lock(mutex_);
  const std::uint32_t before = sends_.signaled();
  sends_.posted(request, elements, std::move(prints));
  if (facts_.send_cq != nullptr) facts_.send_cq->expect(std::int64_t{sends_.signaled()} - before);
}

void QpLedger::check_refused(const transport::SendRequest& request, PostStatus status) {
  if (status != PostStatus::kWrongState) return;
  complaints_.complain(Finding::kPostInWrongState, facts_.name, [&] {
    return fmt::format("wr_id {} ({}) was posted before the queue pair was in IBV_QPS_RTS", request.wr_id,
                       name_of(request.operation));
  });
}

void QpLedger::check_atomic(const transport::SendRequest& request) {
  const bool is_eight_bytes =
      is_atomic(request.operation) || request.operation == SendOperation::kAtomicWrite;
  if (!is_eight_bytes || request.remote_address % kAtomicAlignment == 0) return;
  complaints_.complain(Finding::kMisalignedAtomic, facts_.name, [&] {
    return fmt::format("wr_id {} ({}) is for remote address {:#x}", request.wr_id, name_of(request.operation),
                       request.remote_address);
  });
}

void QpLedger::on_sends_aborted(std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t before = sends_.signaled();
  sends_.aborted(count);
  if (facts_.send_cq != nullptr) facts_.send_cq->expect(std::int64_t{sends_.signaled()} - before);
}

void QpLedger::on_receive(const transport::ReceiveRequest& request, std::span<const Sge> elements,
                          PostStatus status) {
  if (status == PostStatus::kWrongState) {
    return complaints_.complain(Finding::kPostInWrongState, facts_.name, [&] {
      return fmt::format("receive wr_id {} was posted while the queue pair was in IBV_QPS_RESET",
                         request.wr_id);
    });
  }
  if (status != PostStatus::kPosted) return;
  memory_.check({.name = facts_.name, .domain = facts_.domain, .wr_id = request.wr_id, .is_written = true},
                elements);
  const std::uint64_t length = nic::total_length(elements);
  if (facts_.has_datagrams && length < kDatagramHeaderBytes) {
    complaints_.complain(Finding::kReceiveWithoutHeaderRoom, facts_.name,
                         [&] { return fmt::format("receive wr_id {} has {} bytes", request.wr_id, length); });
  }
  const std::lock_guard lock(mutex_);
  receives_.posted(request.wr_id);
}

void QpLedger::polled(std::uint64_t wr_id, bool is_receive, bool is_success) {
  const std::lock_guard lock(mutex_);
  if (is_receive) {
    sends_.receive_polled();
    return receives_.polled();
  }
  const std::uint32_t before = sends_.signaled();
  sends_.polled(wr_id, is_success);
  if (facts_.send_cq != nullptr) facts_.send_cq->expect(std::int64_t{sends_.signaled()} - before);
}

void QpLedger::reset() {
  const std::lock_guard lock(mutex_);
  if (facts_.send_cq != nullptr) facts_.send_cq->expect(-std::int64_t{sends_.signaled()});
  sends_.clear();
  receives_.clear();
}

bool QpLedger::uses_key(transport::Lkey key) const {
  const std::lock_guard lock(mutex_);
  return sends_.uses_key(key);
}

bool QpLedger::uses_address(transport::AddressHandleId address) const {
  const std::lock_guard lock(mutex_);
  return sends_.uses_address(address);
}

void QpLedger::check_destroy() const {
  const std::lock_guard lock(mutex_);
  if (sends_.signaled() == 0) return;
  complaints_.complain(Finding::kDestroyedWithWorkOutstanding, facts_.name, [&] {
    return fmt::format("the program has not polled the completions of {} signaled sends", sends_.signaled());
  });
}

}  // namespace urnic::verbs_api
