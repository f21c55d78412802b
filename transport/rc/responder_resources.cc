// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/responder_resources.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace urnic::transport {

void ResponderResources::start(std::uint32_t resources, std::uint32_t mtu_bytes) {
  oldest_ = size_ = first_pending_ = 0;
  mtu_bytes_ = mtu_bytes;
  resize(resources);
}

void ResponderResources::resize(std::uint32_t resources) {
  limit_ = resources;
  const std::uint32_t capacity = std::max(limit_, size_);
  if (capacity == capacity_) return;
  auto ring = std::make_unique<Resource[]>(capacity);
  for (std::uint32_t age = 0; age < size_; ++age) ring[age] = resource(age);
  ring_ = std::move(ring);
  capacity_ = capacity;
  oldest_ = 0;
}

// Answers go out in the order of the requests, so that it is enough to look at one.
bool ResponderResources::is_full() const {
  if (size_ < limit_) return false;
  if (limit_ == 0) return true;
  const Resource& last_allowed = resource(size_ - limit_);
  return last_allowed.is_pending && !last_allowed.was_answered;
}

std::uint32_t ResponderResources::packets(std::uint32_t length) const {
  return std::max((length + mtu_bytes_ - 1) / mtu_bytes_, 1u);
}

void ResponderResources::answer_from(Resource& resource, Psn psn, std::uint32_t count,
                                     const wire::Reth& reth) {
  resource.is_pending = true;
  resource.answer_psn = psn;
  resource.answer_count = count;
  resource.answer = reth;
  resource.sent = 0;
}

ResponderResources::Resource& ResponderResources::make_room() {
  assert(!is_full());
  // With a new request the answers of these have been received (see is_full()): the peer asks for no repeat
  // of them.
  while (size_ >= limit_) forget_oldest();
  return resource(size_++);
}

void ResponderResources::forget_oldest() {
  oldest_ = (oldest_ + 1) % capacity_;
  --size_;
  if (first_pending_ > 0) --first_pending_;
  skip_answered();
}

void ResponderResources::add(Psn psn, const wire::Reth& reth, PdId pd, std::uint32_t msn) {
  Resource& added = make_room();
  const std::uint32_t count = packets(reth.length);
  added = {.first_psn = psn, .packet_count = count, .reth = reth, .pd = pd, .msn = msn};
  answer_from(added, psn, count, reth);
}

void ResponderResources::add_executed(Psn psn, ResponseKind kind, std::uint64_t original, std::uint32_t msn) {
  Resource& added = make_room();
  added = {.kind = kind, .original = original, .first_psn = psn, .packet_count = 1, .reth = {}, .msn = msn};
  answer_from(added, psn, 1, {});
}

bool ResponderResources::repeat(Psn psn, const wire::Reth& reth) {
  const std::uint32_t count = packets(reth.length);
  for (std::uint32_t age = 0; age < size_; ++age) {
    Resource& known = resource(age);
    if (known.kind != ResponseKind::kReadData) continue;
    const std::uint32_t skipped = (psn.value() - known.first_psn.value()) & Psn::kMask;
    if (skipped >= known.packet_count || count > known.packet_count - skipped) continue;
    const bool is_inside = reth.address >= known.reth.address &&
                           reth.address - known.reth.address <= known.reth.length &&
                           reth.length <= known.reth.length - (reth.address - known.reth.address);
    if (reth.rkey != known.reth.rkey || !is_inside) return false;
    answer_from(known, psn, count, reth);
    restart_from(age);
    return true;
  }
  return false;
}

bool ResponderResources::repeat_executed(Psn psn, ResponseKind kind) {
  for (std::uint32_t age = 0; age < size_; ++age) {
    Resource& known = resource(age);
    if (known.kind != kind || known.first_psn != psn) continue;
    answer_from(known, psn, 1, {});
    restart_from(age);
    return true;
  }
  return false;
}

// Answers that were being sent after a repeated one start over: the requester takes no packet unless it has
// just seen the one before it.
void ResponderResources::restart_from(std::uint32_t age) {
  first_pending_ = std::min(first_pending_, age);
  for (std::uint32_t later = age + 1; later < size_; ++later) resource(later).sent = 0;
}

void ResponderResources::skip_answered() {
  while (first_pending_ < size_ && !resource(first_pending_).is_pending) ++first_pending_;
}

ResponderResources::Part ResponderResources::next(std::uint32_t most) const {
  const Resource& current = resource(first_pending_);
  const std::uint32_t offset = current.sent * mtu_bytes_;
  const std::uint32_t packets =
      current.was_answered ? 1 : std::min(most, current.answer_count - current.sent);
  return {.kind = current.kind,
          .original = current.original,
          .psn = current.answer_psn + current.sent,
          .packets = packets,
          .pd = current.pd,
          .rkey = current.answer.rkey,
          .address = current.answer.address + offset,
          .size = std::min(current.answer.length - offset, packets * mtu_bytes_),
          .msn = current.msn,
          .is_first = current.sent == 0,
          .is_last = current.sent + packets == current.answer_count,
          .is_repeat = current.was_answered};
}

void ResponderResources::advance(std::uint32_t packets) {
  assert(has_pending());
  Resource& current = resource(first_pending_);
  current.sent += packets;
  if (current.sent < current.answer_count) return;
  current.was_answered = true;
  drop_current();
}

void ResponderResources::drop_current() {
  assert(has_pending());
  resource(first_pending_).is_pending = false;
  skip_answered();
}

void ResponderResources::drop_pending() {
  for (std::uint32_t age = first_pending_; age < size_; ++age) resource(age).is_pending = false;
  first_pending_ = size_;
}

}  // namespace urnic::transport
