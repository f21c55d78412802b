// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/accounts/qp_account.h"

#include <fmt/core.h>

#include <bit>
#include <utility>

namespace urnic::verbs_api {
namespace {

/// One more, by the only thread that adds.
void count(std::atomic<std::uint32_t>& number) {
  number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace

QpAccount::QpAccount(Facts facts, Complaints& complaints)
    : facts_(std::move(facts)),
      complaints_(complaints),
      sends_(facts_.name, facts_.sends, Finding::kSendQueueNeverDrained, complaints),
      ends_(std::bit_ceil(facts_.sends.granted + 1)),
      ends_mask_(static_cast<std::uint32_t>(ends_.size()) - 1),
      receives_(facts_.name, facts_.receives, Finding::kReceiveQueueNeverDrained, complaints) {}

bool QpAccount::counts(std::atomic<State>& state, QueueAccount& queue) {
  State now = state.load(std::memory_order_acquire);
  if (now == State::kCounting) [[likely]] {
    return true;
  }
  if (now == State::kStopped || !state.compare_exchange_strong(now, State::kCounting)) return false;
  queue.clear();
  return true;
}

void QpAccount::on_send(const transport::SendRequest& request, std::span<const transport::Sge>, std::uint64_t,
                        nic::PostStatus status) {
  if (status != nic::PostStatus::kPosted || !counts(send_state_, sends_)) return;
  sends_.post(request.wr_id, [this] {
    const std::uint32_t polled = signaled_polled_.load(std::memory_order_acquire);
    return polled == 0 ? 0 : ends_[(polled - 1) & ends_mask_];
  });
  if (!request.signaled && !facts_.is_all_signaled) return;
  const std::uint32_t number = signaled_.load(std::memory_order_relaxed);
  ends_[number & ends_mask_] = sends_.posted();
  signaled_.store(number + 1, std::memory_order_relaxed);
  if (facts_.send_cq == nullptr) return;
  facts_.send_cq->check_expected(number + 1 - signaled_polled_.load(std::memory_order_acquire));
}

/// Which of them were signaled is not known.
void QpAccount::on_sends_aborted(std::uint32_t) {
  send_state_ = State::kStopped;
}

void QpAccount::on_receive(const transport::ReceiveRequest& request, std::span<const transport::Sge>,
                           nic::PostStatus status) {
  if (status != nic::PostStatus::kPosted || !counts(receive_state_, receives_)) return;
  receives_.post(request.wr_id, [this] { return receives_polled_.load(std::memory_order_acquire); });
}

void QpAccount::polled(const transport::Completion& completion) {
  if (is_receive(completion.opcode)) return count(receives_polled_);
  if (completion.status == transport::CompletionStatus::kSuccess) return count(signaled_polled_);
  // Unsignaled sends have a completion then, too.
  send_state_ = State::kStopped;
}

void QpAccount::reset() {
  signaled_ = 0;
  signaled_polled_ = 0;
  receives_polled_ = 0;
  send_state_ = State::kReset;
  receive_state_ = State::kReset;
}

void QpAccount::check_destroy() const {
  if (send_state_ != State::kCounting) return;
  const std::uint32_t outstanding = signaled_.load() - signaled_polled_.load();
  if (outstanding == 0) return;
  complaints_.complain(Finding::kDestroyedWithWorkOutstanding, facts_.name, [&] {
    return fmt::format("the program has not polled the completions of {} signaled sends", outstanding);
  });
}

}  // namespace urnic::verbs_api
