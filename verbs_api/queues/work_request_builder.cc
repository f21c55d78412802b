// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/work_request_builder.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "verbs_api/queues/fixed_length.h"
#include "verbs_api/queues/post_error.h"
#include "verbs_api/queues/sge_array.h"

namespace urnic::verbs_api {

using nic::PostStatus;
using transport::SendRequest;

WorkRequestBuilder::WorkRequestBuilder(nic::QueuePair& qp, std::uint64_t operations)
    : qp_(qp), operations_(operations), type_(qp.attributes().type) {
  if (needs_address()) {
    waiting_sges_.reserve(SgeArray::kCapacity);
    waiting_bytes_.resize(qp.attributes().capabilities.max_inline_data);
  }
}

// The batch is made, and ended, outside of the member that others wait for: it has the lock that guards the
// member.
void WorkRequestBuilder::start(int error) {
  if (error == 0) {
    nic::QueuePair::SendBatch batch(qp_);
    batch_.emplace(std::move(batch));
  }
  started_ = error == 0;
  pending_.reset();
  error_ = error;
}

int WorkRequestBuilder::complete() {
  post_pending();
  const int error = error_;
  if (started_ && error != 0) batch_->abort();
  finish();
  return error;
}

void WorkRequestBuilder::abort() {
  if (started_) batch_->abort();
  finish();
}

/// Publishes what was not aborted.
void WorkRequestBuilder::finish() {
  if (!started_) return;
  started_ = false;
  const nic::QueuePair::SendBatch batch = std::move(*batch_);
  batch_.reset();
}

void WorkRequestBuilder::begin(std::uint64_t needed, const SendRequest& request) {
  post_pending();
  if ((operations_ & needed) == 0) spoil(EOPNOTSUPP);
  pending_ = request;
  data_ = Data::kNone;
  has_address_ = !needs_address() || is_local(request.operation);
}

void WorkRequestBuilder::set_destination(const transport::Destination& destination) {
  if (!pending_ || type_ != nic::QpType::kUd) return spoil(EINVAL);
  pending_->destination = destination;
  set_address();
}

void WorkRequestBuilder::set_xrc_srq(std::uint32_t number) {
  if (!pending_ || type_ != nic::QpType::kXrcInitiator) return spoil(EINVAL);
  pending_->xrc_srq = number;
  set_address();
}

/// The data may have come before the address, and waits for it.
void WorkRequestBuilder::set_address() {
  has_address_ = true;
  if (data_ != Data::kNone) post_pending();
}

void WorkRequestBuilder::set_sges(const ibv_sge* list, std::size_t count) {
  if (!pending_ || data_ != Data::kNone || count > SgeArray::kCapacity) spoil(EINVAL);
  if (error_ != 0) return;
  const SgeArray sges(list, count);
  if (!is_right_length(*pending_, sges.elements())) return spoil(EINVAL);
  if (has_address_) {
    note(batch_->post(*pending_, sges.elements()), false);
    pending_.reset();
    return;
  }
  data_ = Data::kElements;
  waiting_sges_.assign(sges.elements().begin(), sges.elements().end());
}

void WorkRequestBuilder::set_inline(const ibv_data_buf* list, std::size_t count) {
  if (!pending_ || data_ != Data::kNone || !sends_data(pending_->operation) || count > SgeArray::kCapacity) {
    spoil(EINVAL);
  }
  if (error_ != 0) return;
  SgeArray sges;
  for (std::size_t i = 0; i < count; ++i) {
    if (list[i].length > std::numeric_limits<std::uint32_t>::max()) return spoil(EINVAL);
    sges.add({.address = reinterpret_cast<std::uintptr_t>(list[i].addr),
              .length = static_cast<std::uint32_t>(list[i].length)});
  }
  if (!is_right_length(*pending_, sges.elements())) return spoil(EINVAL);
  if (has_address_) {
    note(batch_->post_inline(*pending_, sges.elements()), true);
    pending_.reset();
    return;
  }
  keep_inline(sges.elements());
}

/// The program may change its bytes as soon as they are set.
void WorkRequestBuilder::keep_inline(std::span<const transport::Sge> pieces) {
  if (nic::total_length(pieces) > waiting_bytes_.size()) return note(PostStatus::kTooLong, true);
  data_ = Data::kInline;
  waiting_length_ = 0;
  for (const transport::Sge& piece : pieces) {
    if (piece.length == 0) continue;  // its address need not be one
    std::memcpy(&waiting_bytes_[waiting_length_], reinterpret_cast<const void*>(piece.address), piece.length);
    waiting_length_ += piece.length;
  }
}

void WorkRequestBuilder::spoil(int error) {
  if (error_ == 0) error_ = error;
}

void WorkRequestBuilder::post_pending() {
  if (pending_ && error_ == 0) note(post(*pending_), data_ == Data::kInline);
  pending_.reset();
}

PostStatus WorkRequestBuilder::post(const SendRequest& request) {
  if (!has_address_ || (data_ == Data::kNone && !is_right_length(request, {}))) {
    return PostStatus::kBadRequest;
  }
  if (data_ == Data::kInline) {
    const transport::Sge all{.address = reinterpret_cast<std::uintptr_t>(waiting_bytes_.data()),
                             .length = waiting_length_};
    return batch_->post_inline(request, std::span(&all, 1));
  }
  return batch_->post(request, data_ == Data::kElements ? std::span<const transport::Sge>(waiting_sges_)
                                                        : std::span<const transport::Sge>());
}

void WorkRequestBuilder::note(PostStatus status, bool is_inline) {
  if (status != PostStatus::kPosted) spoil(errno_of_send(status, qp_, is_inline));
}

}  // namespace urnic::verbs_api
