// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/adversary/endpoint.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "transport/wire/opcode.h"

namespace urnic::nic {

using transport::kNever;
using transport::QpState;
using transport::Time;
using transport::WrittenPacket;
using transport::wire::Operation;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kOneLateRequestIn = 8;
constexpr transport::Duration kLongestHold = 2ms;
constexpr std::uint32_t kOneStallIn = 64;
constexpr transport::Duration kLongestStall = 1ms;
constexpr std::uint32_t kOneLateFlushIn = 2;
constexpr transport::Duration kLongestFlushDelay = 20ms;

/// Whether what the packet brings may be in memory later. Not where a completion, here or at the peer, may
/// follow from it that tells of it.
bool may_be_placed_later(const transport::wire::Packet& packet) {
  const transport::wire::OpcodeInfo& info = *packet.info;
  switch (info.operation) {
    case Operation::kWrite:
      return !info.has_immediate();
    case Operation::kSend:
    case Operation::kReadResponse:
      return !info.ends_message();
    default:
      return false;
  }
}

}  // namespace

AdversaryEndpoint::AdversaryEndpoint(Adversary& adversary, std::uint32_t queue_pair,
                                     transport::SendQueue& send_queue, Placement& placement,
                                     std::unique_ptr<transport::Endpoint> inner)
    : adversary_(adversary),
      queue_pair_(queue_pair),
      send_queue_(send_queue),
      placement_(placement),
      inner_(std::move(inner)) {}

void AdversaryEndpoint::reset() {
  placement_.settle();
  inner_->reset();
  let_go();
  flush_at_ = kNever;
  is_flush_due_drawn_ = true;
}

void AdversaryEndpoint::to_error() {
  placement_.settle();
  if (inner_->state() != QpState::kError) {
    ++states_;
    is_flush_due_drawn_ = false;
  }
  inner_->to_error();
}

// Its buffers are the program's afterwards.
void AdversaryEndpoint::forget_receiver(const transport::ReceiveQueue& queue) {
  placement_.settle();
  inner_->forget_receiver(queue);
}

// With selective repeat one packet can end several messages that wait for it: nothing is held back then.
void AdversaryEndpoint::on_packet(const transport::wire::Packet& packet, Time now) {
  const bool is_simple = inner_->config().recovery == transport::Recovery::kGoBackN;
  const bool may_wait = is_simple && may_be_placed_later(packet);
  // Everything that came before is in memory before anything tells of this message, whatever queue pair it
  // came by.
  if (!may_wait) adversary_.settle_all();
  placement_.begin_packet(packet.info->begins_message(), may_wait, now);
  inner_->on_packet(packet, now);
  if (inner_->state() == QpState::kError) placement_.settle();
}

bool AdversaryEndpoint::on_timeout(Time now) {
  if (placement_.due() <= now) placement_.settle();
  // A queue pair with nothing to send, or a full port, is not told to send. It must not stay due.
  if (stalled_until_ <= now) end_stall(now);
  if (flush_at_ <= now) flush_at_ = kNever;
  // The peer cannot acknowledge what waits here.
  if (stalled_until_ != kNever && inner_->acknowledge_by() <= now) inner_->restart_ack_timer(now);
  // Here and not in poll_transmit(): a datagram's route is found before that, by next_destination().
  if (held_until_ <= now) {
    held_until_ = kNever;
    ++seen_;
    hold_posts(now);
  }
  const bool is_ack_overdue = inner_->next_timeout() <= now && inner_->on_timeout(now);
  if (inner_->state() == QpState::kError) placement_.settle();
  return is_ack_overdue;
}

Time AdversaryEndpoint::next_timeout() const {
  return std::min({inner_->next_timeout(), placement_.due(), held_until_, stalled_until_, flush_at_});
}

WrittenPacket AdversaryEndpoint::poll_transmit(std::span<std::byte> out, Time now) {
  if (inner_->state() == QpState::kError) {
    let_go();
    if (waits_with_flush(now)) return {};
    return inner_->poll_transmit(out, now);
  }
  hold_posts(now);
  if (stalled_until_ <= now) end_stall(now);
  // Responses do not wait: the peer's completion must not come after this program's, which may end.
  if (stalled_until_ != kNever && !inner_->has_pending_response()) return {};
  const WrittenPacket packet = poll_what_was_seen(out, now);
  const bool has_failed = inner_->state() == QpState::kError;
  if (has_failed) placement_.settle();
  if (packet.size > 0) {
    // With a NAK it may have failed, which leaves first.
    if (!has_failed) maybe_stall(now);
    return packet;
  }
  if (!has_failed) return {};
  // What was held is to be flushed, too.
  let_go();
  return inner_->poll_transmit(out, now);
}

/// Lets the endpoint see what was posted, up to a request that has to wait. In this order, so that requests
/// stay in theirs.
void AdversaryEndpoint::hold_posts(Time now) {
  if (!adversary_.does(Behavior::kLatePayload)) return;
  if (held_until_ != kNever) return;
  for (const std::uint32_t end = send_queue_.posted_tail(); seen_ != end; ++seen_) {
    if (!adversary_.strikes(Behavior::kLatePayload, queue_pair_, seen_, kOneLateRequestIn)) continue;
    const auto pause = adversary_.pause(Behavior::kLatePayload, queue_pair_, seen_, kLongestHold);
    adversary_.note(Behavior::kLatePayload, "queue pair", queue_pair_, "request", seen_, pause);
    send_queue_.hold_at(seen_);
    held_until_ = now + pause;
    return;
  }
  send_queue_.show_all();
}

/// The program posts at any time. The endpoint must not begin what nothing was drawn for yet: such a request
/// might be held afterwards.
WrittenPacket AdversaryEndpoint::poll_what_was_seen(std::span<std::byte> out, Time now) {
  if (!adversary_.does(Behavior::kLatePayload) || held_until_ != kNever) {
    return inner_->poll_transmit(out, now);
  }
  send_queue_.hold_at(seen_);
  const WrittenPacket packet = inner_->poll_transmit(out, now);
  send_queue_.show_all();
  return packet;
}

/// No request waits any more.
void AdversaryEndpoint::let_go() {
  send_queue_.show_all();
  seen_ = send_queue_.posted_tail();
  held_until_ = stalled_until_ = kNever;
}

/// What it kept the peer from acknowledging has all its time from here on.
void AdversaryEndpoint::end_stall(Time now) {
  stalled_until_ = kNever;
  inner_->restart_ack_timer(now);
}

bool AdversaryEndpoint::waits_with_flush(Time now) {
  if (!is_flush_due_drawn_) {
    is_flush_due_drawn_ = true;
    if (adversary_.strikes(Behavior::kLateFlush, queue_pair_, states_, kOneLateFlushIn)) {
      const auto pause = adversary_.pause(Behavior::kLateFlush, queue_pair_, states_, kLongestFlushDelay);
      adversary_.note(Behavior::kLateFlush, "queue pair", queue_pair_, "error", states_, pause);
      flush_at_ = now + pause;
    }
  }
  if (flush_at_ <= now) flush_at_ = kNever;
  return flush_at_ != kNever;
}

void AdversaryEndpoint::maybe_stall(Time now) {
  ++sent_;
  if (!adversary_.strikes(Behavior::kSlowQueuePair, queue_pair_, sent_, kOneStallIn)) return;
  const auto pause = adversary_.pause(Behavior::kSlowQueuePair, queue_pair_, sent_, kLongestStall);
  adversary_.note(Behavior::kSlowQueuePair, "queue pair", queue_pair_, "packet", sent_, pause);
  stalled_until_ = now + pause;
}

}  // namespace urnic::nic
