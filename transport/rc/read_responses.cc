#include "transport/rc/read_responses.h"

#include <algorithm>
#include <cassert>

namespace urnic::transport {

void ReadResponses::start(std::uint32_t resources, std::uint32_t mtu_bytes) {
  capacity_ = std::min(resources, kMaxResources);
  mtu_bytes_ = mtu_bytes;
  oldest_ = size_ = pending_ = 0;
}

bool ReadResponses::is_full() const {
  if (size_ < capacity_) return false;
  return capacity_ == 0 || (resource(0).is_pending && !resource(0).was_answered);
}

std::uint32_t ReadResponses::packets(std::uint32_t length) const {
  return std::max((length + mtu_bytes_ - 1) / mtu_bytes_, 1u);
}

void ReadResponses::answer_from(Resource& resource, Psn psn, std::uint32_t count, const wire::Reth& reth) {
  resource.is_pending = true;
  resource.answer_psn = psn;
  resource.answer_count = count;
  resource.answer = reth;
  resource.sent = 0;
}

void ReadResponses::add(Psn psn, const wire::Reth& reth, std::uint32_t msn) {
  assert(!is_full());
  if (size_ == capacity_) {
    // With a new READ the oldest has been received (see is_full()): nobody waits for a repeat of it.
    if (resource(0).is_pending) --pending_;
    oldest_ = (oldest_ + 1) % kMaxResources;
    --size_;
  }
  Resource& added = resource(size_++);
  const std::uint32_t count = packets(reth.length);
  added = {.first_psn = psn, .packet_count = count, .reth = reth, .msn = msn};
  answer_from(added, psn, count, reth);
  ++pending_;
}

bool ReadResponses::repeat(Psn psn, const wire::Reth& reth, std::uint32_t msn) {
  const std::uint32_t count = packets(reth.length);
  for (std::uint32_t age = 0; age < size_; ++age) {
    Resource& known = resource(age);
    const std::uint32_t skipped = (psn.value() - known.first_psn.value()) & Psn::kMask;
    if (skipped >= known.packet_count || count > known.packet_count - skipped) continue;
    const bool is_inside = reth.address >= known.reth.address &&
                           reth.address - known.reth.address <= known.reth.length &&
                           reth.length <= known.reth.length - (reth.address - known.reth.address);
    if (reth.rkey != known.reth.rkey || !is_inside) return false;
    if (!known.is_pending) ++pending_;
    known.msn = msn;
    answer_from(known, psn, count, reth);
    // What was being sent behind it starts over: the requester takes no packet whose predecessor it did not
    // just see.
    for (std::uint32_t later = age + 1; later < size_; ++later) resource(later).sent = 0;
    return true;
  }
  return false;
}

std::optional<std::uint32_t> ReadResponses::first_pending() const {
  if (pending_ == 0) return std::nullopt;
  for (std::uint32_t age = 0; age < size_; ++age) {
    if (resource(age).is_pending) return age;
  }
  return std::nullopt;
}

std::optional<ReadResponses::Part> ReadResponses::next() const {
  const std::optional<std::uint32_t> age = first_pending();
  if (!age) return std::nullopt;
  const Resource& current = resource(*age);
  const std::uint32_t offset = current.sent * mtu_bytes_;
  return Part{.psn = current.answer_psn + current.sent,
              .rkey = current.answer.rkey,
              .address = current.answer.address + offset,
              .size = std::min(current.answer.length - offset, mtu_bytes_),
              .msn = current.msn,
              .is_first = current.sent == 0,
              .is_last = current.sent + 1 == current.answer_count,
              .is_repeat = current.was_answered};
}

void ReadResponses::advance() {
  const std::optional<std::uint32_t> age = first_pending();
  assert(age);
  Resource& current = resource(*age);
  if (++current.sent < current.answer_count) return;
  current.was_answered = true;
  current.is_pending = false;
  --pending_;
}

void ReadResponses::drop_current() {
  const std::optional<std::uint32_t> age = first_pending();
  assert(age);
  resource(*age).is_pending = false;
  --pending_;
}

void ReadResponses::drop_pending() {
  for (std::uint32_t age = 0; age < size_; ++age) resource(age).is_pending = false;
  pending_ = 0;
}

}  // namespace urnic::transport
