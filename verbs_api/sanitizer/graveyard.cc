// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/graveyard.h"

#include <fmt/core.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "verbs_api/sanitizer/sanitizer.h"

namespace urnic::verbs_api {
namespace {

std::string_view name_of(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kPd:
      return "protection domain";
    case ObjectKind::kTd:
      return "thread domain";
    case ObjectKind::kMr:
      return "memory region";
    case ObjectKind::kMw:
      return "memory window";
    case ObjectKind::kDm:
      return "device memory";
    case ObjectKind::kAh:
      return "address handle";
    case ObjectKind::kChannel:
      return "completion channel";
    case ObjectKind::kCq:
      return "CQ";
    case ObjectKind::kSrq:
      return "SRQ";
    case ObjectKind::kXrcd:
      return "XRC domain";
    case ObjectKind::kQp:
      return "QP";
    case ObjectKind::kWq:
      return "work queue";
    case ObjectKind::kIndirectionTable:
      return "indirection table";
    case ObjectKind::kFlow:
      return "flow";
    case ObjectKind::kCounters:
      return "counters";
    case ObjectKind::kBuffer:
      return "buffer";
  }
  return "object";
}

// --- The operations of what is buried ---

int buried_post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) {
  sanitizer().graveyard().complain(qp, "ibv_post_send()");
  if (bad != nullptr) *bad = first;
  return EINVAL;
}

int buried_post_receive(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) {
  sanitizer().graveyard().complain(qp, "ibv_post_recv()");
  if (bad != nullptr) *bad = first;
  return EINVAL;
}

int buried_post_srq_receive(ibv_srq* srq, ibv_recv_wr* first, ibv_recv_wr** bad) {
  sanitizer().graveyard().complain(srq, "ibv_post_srq_recv()");
  if (bad != nullptr) *bad = first;
  return EINVAL;
}

int buried_poll(ibv_cq* cq, int, ibv_wc*) {
  sanitizer().graveyard().complain(cq, "ibv_poll_cq()");
  return -EINVAL;
}

int buried_request_notification(ibv_cq* cq, int) {
  sanitizer().graveyard().complain(cq, "ibv_req_notify_cq()");
  return EINVAL;
}

int buried_start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr*) {
  sanitizer().graveyard().complain(cq, "ibv_start_poll()");
  return EINVAL;
}

}  // namespace

Graveyard::Graveyard(Complaints& complaints) : complaints_(complaints) {
  context_.ops.post_send = buried_post_send;
  context_.ops.post_recv = buried_post_receive;
  context_.ops.post_srq_recv = buried_post_srq_receive;
  context_.ops.poll_cq = buried_poll;
  context_.ops.req_notify_cq = buried_request_notification;
}

void Graveyard::note_destroyed(const void* object, ObjectKind kind, std::uint32_t handle) {
  Grave grave{.name = fmt::format("{} {:#x}", name_of(kind), handle), .calls = CallPath::here()};
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_.insert_or_assign(object, std::move(grave));
}

void Graveyard::note_given(const void* object) {
  const std::lock_guard lock(mutex_);
  known_.erase(object);
}

void Graveyard::note_unknown(const void* object) {
  complain(object, "a verb");
}

void Graveyard::complain(const void* object, const char* verb) {
  Grave grave;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(object);
    if (found == known_.end()) return;
    grave = found->second;
  }
  complaints_.complain(Finding::kUsedAfterDestroy, grave.name, [&] {
    std::string where;
    for (const std::string& call : grave.calls.lines()) {
      where = " at " + call;
      break;
    }
    return fmt::format("{} is called with it, and it was destroyed{}", verb, where);
  });
}

void Graveyard::keep(std::function<void()> free) {
  std::function<void()> oldest;
  {
    const std::lock_guard lock(mutex_);
    buried_.push_back(std::move(free));
    if (buried_.size() <= kMostBuried) return;
    oldest = std::move(buried_.front());
    buried_.pop_front();
  }
  oldest();
}

void Graveyard::bury(ibv_qp& qp, std::function<void()> free) {
  qp.context = &context_;
  keep(std::move(free));
}

void Graveyard::bury(ibv_cq& cq, std::function<void()> free) {
  cq.context = &context_;
  reinterpret_cast<ibv_cq_ex&>(cq).start_poll = buried_start_poll;
  keep(std::move(free));
}

void Graveyard::bury(ibv_srq& srq, std::function<void()> free) {
  srq.context = &context_;
  keep(std::move(free));
}

// --- What the registry says ---

void note_destroyed(const void* object, ObjectKind kind, std::uint32_t handle) {
  if (sanitizer().is_on()) sanitizer().graveyard().note_destroyed(object, kind, handle);
}

void note_given(const void* object) {
  if (sanitizer().is_on()) sanitizer().graveyard().note_given(object);
}

void note_unknown(const void* object) {
  if (sanitizer().is_on()) sanitizer().graveyard().note_unknown(object);
}

}  // namespace urnic::verbs_api
