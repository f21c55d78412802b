// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Completions by ibv_poll_cq, and asking to be told of them.
#include <cerrno>
#include <cstddef>

#include "verbs_api/abi/operations.h"
#include "verbs_api/adversary/garbage.h"
#include "verbs_api/datapath/completion.h"
#include "verbs_api/datapath/like_completion.h"
#include "verbs_api/device/context.h"
#include "verbs_api/queues/cq.h"

namespace urnic::verbs_api {

namespace {

void write_completion(Cq& polled, const transport::Completion& completion, ibv_wc& to) {
  if (!polled.is_unusual) [[likely]] {
    to = to_wc(completion);
    return;
  }
  if (polled.like != nullptr) {
    write_like(*polled.like, completion, to);
  } else {
    to = to_wc(completion);
  }
  if (polled.rooms != nullptr) polled.rooms->polled(completion);
  if (polled.adversary != nullptr) spoil(to, completion, *polled.adversary, ++polled.polled);
}

/// The same as what follows in poll_cq(), where failures are explained.
std::size_t poll_counted(Cq& polled, std::size_t capacity, ibv_wc* completions) {
  CqAccount& account = *polled.account;
  account.check_waiting(polled.inner->waiting());
  return polled.inner->poll_each(capacity,
                                 [&](const transport::Completion& completion, const nic::CompletionTimes*) {
                                   write_completion(polled, completion, *completions++);
                                   account.polled(completion);
                                 });
}

/// For the sanitizer.
std::size_t poll_watched(Cq& polled, std::size_t capacity, ibv_wc* completions) {
  if (polled.account != nullptr) return poll_counted(polled, capacity, completions);
  CqLedger& ledger = *polled.ledger;
  const CqUse use(ledger);
  ledger.check_waiting(polled.inner->waiting());
  const std::size_t taken = polled.inner->poll_each(
      capacity, [&](const transport::Completion& completion, const nic::CompletionTimes*) {
        write_completion(polled, completion, *completions++);
        polled.ledgers->polled(completion);
      });
  note_poll(ledger, taken);
  return taken;
}

}  // namespace

int poll_cq(ibv_cq* cq, int capacity, ibv_wc* completions) noexcept {
  Cq& polled = Cq::of(cq);
  const Context& owner = Context::of(cq->context);
  if (owner.is_dead()) [[unlikely]] {
    return -owner.dead_error();
  }
  if (capacity <= 0) return capacity == 0 ? 0 : -EINVAL;
  const auto limit = static_cast<std::size_t>(capacity);
  if (polled.is_watched) [[unlikely]] {
    return static_cast<int>(poll_watched(polled, limit, completions));
  }
  const std::size_t taken = polled.inner->poll_each(
      limit, [&](const transport::Completion& completion, const nic::CompletionTimes*) {
        write_completion(polled, completion, *completions++);
      });
  return static_cast<int>(taken);
}

int request_notification(ibv_cq* cq, int solicited_only) noexcept {
  const Context& owner = Context::of(cq->context);
  if (owner.is_dead()) return owner.dead_error();
  Cq::of(cq).inner->request_notification(solicited_only != 0);
  return 0;
}

}  // namespace urnic::verbs_api
