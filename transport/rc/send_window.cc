// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/send_window.h"

#include <algorithm>
#include <cassert>

namespace urnic::transport {

namespace {

constexpr std::uint32_t kHalfPsnSpace = 1u << 23;

/// Which packet of the work request `psn` is; for the first PSN after the work request, its number of
/// packets.
std::uint32_t index_in(const SendWqe& wqe, Psn psn) {
  return (psn.value() - wqe.first_psn.value()) & Psn::kMask;
}

}  // namespace

void SendWindow::start(Psn first, const Settings& settings) {
  recovery_ = make_loss_recovery(settings.recovery, first);
  is_selective_ = settings.recovery == Recovery::kSelectiveRepeat;
  mtu_bytes_ = settings.mtu_bytes;
  read_piece_ = settings.read_piece;
  oldest_ = sent_end_ = next_psn_ = first;
  assigned_ = begun_end_ = cursor_ = queue_.head();
  cursor_packet_ = 0;
  reads_in_flight_ = read_psns_in_flight_ = 0;
  next_message_ = 0;
}

std::uint32_t SendWindow::packet_count(const SendWqe& wqe) const {
  const SendOperation operation = wqe.request.operation;
  if (is_local(operation)) return 0;
  const bool is_message = !has_response(operation) || operation == SendOperation::kRead;
  return is_message ? std::max((wqe.length + mtu_bytes_ - 1) / mtu_bytes_, 1u) : 1;
}

/// Of the pieces of a READ, or of one request, how many end before the packet `index`.
std::uint32_t SendWindow::pieces_before(const SendWqe& wqe, std::uint32_t index) const {
  return index / read_piece_ + (index == wqe.packet_count && !begins_piece(index) ? 1 : 0);
}

SendWqe& SendWindow::begin_current() {
  assert(has_work());
  SendWqe& wqe = queue_.at(cursor_);
  if (cursor_ == assigned_) {
    wqe.first_psn = next_psn_;
    wqe.packet_count = packet_count(wqe);
    // The peer counts each READ request (fact 20).
    const bool is_read = has_response(wqe.request.operation);
    const std::uint32_t messages =
        is_read ? pieces_before(wqe, wqe.packet_count) : std::min(wqe.packet_count, 1u);
    next_message_ = (next_message_ + messages) & Psn::kMask;
    wqe.message_number = next_message_;
    next_psn_ = next_psn_ + wqe.packet_count;
    ++assigned_;
  }
  return wqe;
}

Psn SendWindow::cursor_psn() const {
  return cursor_ == assigned_ ? next_psn_ : queue_.at(cursor_).first_psn + cursor_packet_;
}

std::uint32_t SendWindow::current_psns() const {
  const SendWqe& wqe = queue_.at(cursor_);
  if (!has_response(wqe.request.operation)) return 1;
  return std::min(read_piece_ - cursor_packet_ % read_piece_, wqe.packet_count - cursor_packet_);
}

void SendWindow::advance(std::uint32_t packets) {
  const SendWqe& wqe = queue_.at(cursor_);
  if (!has_begun_work()) begun_end_ = cursor_ + 1;
  std::uint32_t psns = packets;
  if (has_response(wqe.request.operation)) {
    psns = current_psns();
    ++reads_in_flight_;
    read_psns_in_flight_ += psns;
  }
  cursor_packet_ += psns;
  const Psn reached = wqe.first_psn + cursor_packet_;
  // A READ request of half the PSN space is one step; compared from the oldest PSN it is still the larger
  // number.
  if (ahead(reached) > ahead(sent_end_)) sent_end_ = reached;
  if (cursor_packet_ == wqe.packet_count) {
    ++cursor_;
    cursor_packet_ = 0;
  }
}

bool SendWindow::has_psn_space(std::uint32_t psns) const {
  const std::uint32_t in_flight = psns_in_flight();
  return in_flight == 0 || in_flight + psns < kHalfPsnSpace;
}

bool SendWindow::rewind() {
  if (!has_outstanding()) return false;
  cursor_ = queue_.head();
  cursor_packet_ = index_in(queue_.at(cursor_), oldest_);
  reads_in_flight_ = read_psns_in_flight_ = 0;
  return cursor_packet_ != 0;
}

// Requests that have a response are not counted.
std::uint32_t SendWindow::held_packets() const {
  std::uint32_t held = recovery_->held_before(cursor_psn());
  if (held == 0 || reads_in_flight_ == 0) return held;
  const std::uint32_t end = cursor_ + (cursor_packet_ > 0 ? 1 : 0);
  for (std::uint32_t position = queue_.head(); position != end; ++position) {
    const SendWqe& wqe = queue_.at(position);
    if (!has_response(wqe.request.operation)) continue;
    const std::uint32_t asked = position == cursor_ ? cursor_packet_ : wqe.packet_count;
    const std::uint32_t answered = position == queue_.head() ? index_in(wqe, oldest_) : 0;
    for (std::uint32_t i = answered - answered % read_piece_; i < asked; i += read_piece_) {
      if (recovery_->holds(wqe.first_psn + i)) --held;
    }
  }
  return held;
}

void SendWindow::skip_unwanted() {
  while (is_repeating() && !recovery_->wants(cursor_psn(), cursor_part())) advance(1);
}

RequestPart SendWindow::cursor_part() const {
  if (!has_response(queue_.at(cursor_).request.operation)) return RequestPart::kData;
  return begins_piece(cursor_packet_) ? RequestPart::kAsks : RequestPart::kGoesOn;
}

Psn SendWindow::head_last_psn() const {
  const SendWqe& wqe = queue_.at(queue_.head());
  return wqe.first_psn + (wqe.packet_count - 1);
}

// The responses before `psn` to the head work request, if it has any, are not in flight any more. Those from
// the cursor on were not counted: they were to be requested again.
void SendWindow::answered_before(Psn psn) {
  const SendWqe& wqe = head();
  if (!has_response(wqe.request.operation)) return;
  const std::uint32_t from = index_in(wqe, oldest_);
  const std::uint32_t answered = std::min(ahead(psn), ahead(cursor_psn()));
  reads_in_flight_ -= pieces_before(wqe, from + answered) - pieces_before(wqe, from);
  read_psns_in_flight_ -= answered;
}

void SendWindow::acknowledge_part(Psn psn) {
  answered_before(psn);
  oldest_ = psn;
  pull_cursor_up();
}

void SendWindow::retire_head() {
  const Psn end = head_last_psn() + 1;
  answered_before(end);
  oldest_ = end;
  queue_.pop();
  pull_cursor_up();
}

// An acknowledgement of what was sent before a rewind() may pass the cursor: what it covers need not be sent
// again.
void SendWindow::pull_cursor_up() {
  const std::uint32_t head = queue_.head();
  if (static_cast<std::int32_t>(cursor_ - head) < 0) {
    cursor_ = head;
    cursor_packet_ = 0;
  }
  if (cursor_ != head || cursor_ == assigned_) return;
  cursor_packet_ = std::max(cursor_packet_, index_in(queue_.at(head), oldest_));
}

}  // namespace urnic::transport
