#include "transport/rc/send_window.h"

#include <algorithm>
#include <cassert>

namespace urnic::transport {

namespace {

constexpr std::uint32_t kHalfPsnSpace = 1u << 23;

}  // namespace

void SendWindow::start(Psn first, std::uint32_t mtu_bytes, Recovery recovery) {
  recovery_ = make_loss_recovery(recovery, first);
  is_selective_ = recovery == Recovery::kSelectiveRepeat;
  mtu_bytes_ = mtu_bytes;
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

SendWqe& SendWindow::begin_current() {
  assert(has_work());
  SendWqe& wqe = queue_.at(cursor_);
  if (cursor_ == assigned_) {
    wqe.first_psn = next_psn_;
    wqe.packet_count = packet_count(wqe);
    if (wqe.packet_count > 0) next_message_ = (next_message_ + 1) & Psn::kMask;
    wqe.message_number = next_message_;
    next_psn_ = next_psn_ + wqe.packet_count;
    ++assigned_;
  }
  return wqe;
}

Psn SendWindow::cursor_psn() const {
  return cursor_ == assigned_ ? next_psn_ : queue_.at(cursor_).first_psn + cursor_packet_;
}

void SendWindow::advance() {
  const SendWqe& wqe = queue_.at(cursor_);
  if (!has_begun_work()) begun_end_ = cursor_ + 1;
  if (has_response(wqe.request.operation)) {
    ++reads_in_flight_;
    read_psns_in_flight_ += wqe.packet_count - cursor_packet_;
    cursor_packet_ = wqe.packet_count;
  } else {
    ++cursor_packet_;
  }
  const Psn reached = wqe.first_psn + cursor_packet_;
  // A READ of half the PSN space is one step; compared from the oldest PSN it is still the larger number.
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
  cursor_packet_ = (oldest_.value() - queue_.at(cursor_).first_psn.value()) & Psn::kMask;
  reads_in_flight_ = read_psns_in_flight_ = 0;
  return cursor_packet_ != 0;
}

// Requests that have a response are not counted.
std::uint32_t SendWindow::held_packets() const {
  std::uint32_t held = recovery_->held_before(cursor_psn());
  if (held == 0 || reads_in_flight_ == 0) return held;
  for (std::uint32_t position = queue_.head(); position != cursor_; ++position) {
    const SendWqe& wqe = queue_.at(position);
    if (has_response(wqe.request.operation) && recovery_->holds(wqe.first_psn)) --held;
  }
  return held;
}

void SendWindow::skip_unwanted() {
  while (is_repeating() && !recovery_->wants(cursor_psn(), cursor_part())) advance();
}

RequestPart SendWindow::cursor_part() const {
  if (!has_response(queue_.at(cursor_).request.operation)) return RequestPart::kData;
  return cursor_packet_ == 0 ? RequestPart::kAsks : RequestPart::kGoesOn;
}

Psn SendWindow::head_last_psn() const {
  const SendWqe& wqe = queue_.at(queue_.head());
  return wqe.first_psn + (wqe.packet_count - 1);
}

void SendWindow::acknowledge_part(Psn psn) {
  if (!current_is_head() && has_response(head().request.operation)) read_psns_in_flight_ -= ahead(psn);
  oldest_ = psn;
  pull_cursor_up();
}

void SendWindow::retire_head() {
  const Psn end = head_last_psn() + 1;
  if (!current_is_head() && has_response(head().request.operation)) {
    --reads_in_flight_;
    read_psns_in_flight_ -= ahead(end);
  }
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
  const std::uint32_t acknowledged = (oldest_.value() - queue_.at(head).first_psn.value()) & Psn::kMask;
  cursor_packet_ = std::max(cursor_packet_, acknowledged);
}

}  // namespace urnic::transport
