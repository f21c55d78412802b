// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/pipeline.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "nic/queues/completion_queue.h"
#include "nic/queues/queue_pair.h"
#include "nic/queues/xrc_domain.h"
#include "nic/recording/recorder.h"

namespace urnic::nic {

using transport::Duration;
using transport::kNever;
using transport::QpState;
using transport::Time;

namespace {

constexpr std::size_t kTimersPerRound = 64;
/// A full port, or way out of it, is tried again after this long when nothing else happens.
constexpr Duration kFullPortDelay = std::chrono::microseconds(500);
/// A timer that has to wait for what is still in the port is looked at again after this long.
constexpr Duration kHearDelay = std::chrono::microseconds(10);
/// A port that has more than one round takes returns so many, and more: some of them are runs.
constexpr std::size_t kManyFrames = 4;

}  // namespace

Pipeline::Pipeline(const Dependencies& deps)
    : clock_(deps.clock),
      tables_(deps.tables),
      events_(deps.events),
      notification_point_(deps.config),
      transmitter_({.neighbors = tables_.neighbors,
                    .reports = tables_.reports,
                    .address_handles = tables_.address_handles,
                    .memory = tables_.memory,
                    .scheduler = scheduler_,
                    .time_wait = time_wait_,
                    .notification_point = notification_point_,
                    .drops = deps.drops,
                    .counters = deps.counters}),
      gsi_({.config = deps.config,
            .gids = deps.gids,
            .neighbors = tables_.neighbors,
            .reports = tables_.reports,
            .queue_pairs = tables_.queue_pairs,
            .drops = deps.drops,
            .counters = deps.counters}),
      receiver_({.config = deps.config,
                 .gids = deps.gids,
                 .queue_pairs = tables_.queue_pairs,
                 .groups = tables_.groups,
                 .flows = tables_.flows,
                 .time_wait = time_wait_,
                 .neighbors = tables_.neighbors,
                 .reports = tables_.reports,
                 .scheduler = scheduler_,
                 .transmitter = transmitter_,
                 .gsi = gsi_,
                 .drops = deps.drops,
                 .counters = deps.counters,
                 .failures = deps.failures}) {}

void Pipeline::attach(std::unique_ptr<PacketPort> port) {
  port_ = std::move(port);
  heard_until_ = clock_.now();
  transmitter_.attach(*port_);
  gsi_.attach(*port_);
  tables_.groups.tell(*port_);
}

void Pipeline::set_link(bool is_up) {
  if (gate_ == nullptr) {
    if (is_up) return;
    auto gate = std::make_unique<LinkGate>(std::move(port_));
    gate_ = gate.get();
    attach(std::move(gate));
  }
  gate_->set(is_up);
}

// --- Rounds ---

Pipeline::Round Pipeline::run(Time now) {
  const Time started = now;
  scheduler_.take_doorbells();
  Round round{.received = receive(now)};
  note_heard(started, now, round.received);
  bool worked = round.received > 0;
  worked |= expire_timers(now);
  worked |= send_and_complete(now);
  round.worked = worked;
  return round;
}

bool Pipeline::run_sending_half(Time now) {
  scheduler_.take_doorbells();
  return send_and_complete(now);
}

bool Pipeline::send_and_complete(Time now) {
  bool worked = transmitter_.run(now, heard_until_);
  worked |= gsi_.run(now, heard_until_);
  port_->flush();
  worked |= publisher_.run(now);
  if (!overrun_.empty()) fail_users_of_overrun();
  return worked;
}

// The clock is read again when there are frames: what they start, the wait after an RNR NAK for instance,
// must not count from before they came, and between the beginning of the round and now this thread may have
// been without a processor.
std::size_t Pipeline::receive(Time& now) {
  const std::size_t count = port_->receive(frames_);
  if (count > 0) now = clock_.now();
  for (std::size_t i = 0; i < count; ++i) {
    if (recorder_ != nullptr) [[unlikely]] {
      recorder_->on_frame();
      receiver_.on_frame(frames_[i], now);
      recorder_->on_frame_done();
    } else {
      receiver_.on_frame(frames_[i], now);
    }
  }
  return count;
}

/// `started` is before receive(). The port is asked only where it matters: most rounds find no timer that has
/// run out.
void Pipeline::note_heard(Time started, Time now, std::size_t received) {
  const bool is_timer_due =
      scheduler_.next_timeout() <= now ||
      (received >= kManyFrames && (tables_.neighbors.next_timeout() <= now || gsi_.next_timeout() <= now));
  const bool may_hold_more = is_timer_due && (received == kReceiveBurst || port_->may_hold_frames());
  if (!may_hold_more) {
    heard_until_ = started;
    bursts_since_mark_ = 0;
    return;
  }
  if (bursts_since_mark_ == 0) mark_ = started;
  if (++bursts_since_mark_ < kMostBursts) return;
  heard_until_ = mark_;
  bursts_since_mark_ = 0;
}

bool Pipeline::expire_timers(Time now) {
  bool worked = false;
  for (std::size_t i = 0; i < kTimersPerRound; ++i) {
    QueuePair* const qp = scheduler_.pop_expired(now);
    if (qp == nullptr) break;
    if (qp->endpoint().next_timeout() > now) {
      // It became later, or was stopped, after it was registered.
      scheduler_.expect_timeout(*qp);
      continue;
    }
    const Time acknowledge_by = qp->endpoint().acknowledge_by();
    if (acknowledge_by > heard_until_ && acknowledge_by <= now) {
      scheduler_.put_off_timeout(*qp, now + kHearDelay);
      continue;
    }
    if (acknowledge_by <= now && is_awaiting_turn_of_peer(*qp)) {
      qp->endpoint().restart_ack_timer(now);
      scheduler_.expect_timeout(*qp);
      continue;
    }
    // A peer that does not acknowledge may have moved to another MAC.
    if (qp->endpoint().on_timeout(now)) tables_.neighbors.suspect(qp->path().destination(), now);
    scheduler_.wake(*qp);
    worked = true;
  }
  return worked;
}

/// A peer of this host. It has as much time as others from when it has had its turn.
bool Pipeline::is_awaiting_turn_of_peer(QueuePair& qp) {
  const auto station = qp.path().local_station();
  if (!station && !qp.peer_mac().is_known) return false;
  return port_->is_awaiting_turn_of(station.value_or(qp.peer_mac().mac));
}

Time Pipeline::next_deadline(Time now) const {
  const Time next_try = now + kFullPortDelay;
  if (transmitter_.is_blocked()) return next_try;
  const bool has_frames_left = transmitter_.has_frames_left();
  const bool waits_for_room = scheduler_.count_full_ways() > 0 || has_frames_left || gsi_.waits_for_room();
  if (!scheduler_.is_idle() || !publisher_.is_idle()) return now;
  const Time next_frame =
      has_frames_left ? kNever : std::min(tables_.neighbors.next_timeout(), tables_.reports.next_timeout());
  return std::min({waits_for_room ? next_try : kNever, scheduler_.next_timeout(), next_frame,
                   gsi_.next_timeout(), publisher_.next_notification(), port_->next_due()});
}

// --- Queue pairs and completion queues ---

void Pipeline::expect_queues(std::size_t count) {
  publisher_.expect(count);
  overrun_.reserve(count);
}

void Pipeline::flush_delayed_ack(QueuePair& qp) {
  qp.endpoint().flush_delayed_ack();
  scheduler_.wake(qp);
}

void Pipeline::enter_time_wait(QueuePair& qp, Time now) {
  scheduler_.take_doorbells();
  scheduler_.remove(qp);
  // As drivers of cards clean their queues: the program may free at once what its wr_id point to.
  qp.end();
  if (recorder_ != nullptr) recorder_->forget(qp.number());
  tables_.groups.detach_from_all(qp, now);
  tables_.flows.remove_all_of(qp.number());
  tables_.queue_pairs.release(qp.number());
  const transport::Endpoint& endpoint = std::as_const(qp).endpoint();
  const auto service = service_of(qp.attributes().type);
  const bool acknowledges =
      service == transport::wire::Service::kRc || service == transport::wire::Service::kXrc;
  if (qp.path().header_bytes() == 0 || !acknowledges) return;
  time_wait_.add({.number = qp.number(),
                  .service = endpoint.config().service,
                  .peer = endpoint.config().remote_qp,
                  .expected = endpoint.next_receive_psn(),
                  .acknowledged = endpoint.acknowledgeable_psn(),
                  .msn = endpoint.msn(),
                  .path = qp.path()},
                 now);
}

void Pipeline::forget_queue(CompletionQueue& queue) {
  publisher_.forget(queue);
  std::erase(overrun_, &queue);
  queue.retire();
}

// A program that relied on the lost completion would wait forever. So all queue pairs that use the queue go
// to ERR, and the program gets events.
void Pipeline::fail_users_of_overrun() {
  for (CompletionQueue* const queue : overrun_) {
    events_.on_cq_overrun(*queue);
    tables_.queue_pairs.for_each([&](QueuePair& qp) {
      const QpCreateAttributes& attributes = qp.attributes();
      const bool uses_it = attributes.send_queue == queue || attributes.receive_queue == queue ||
                           (attributes.xrc_domain != nullptr && attributes.xrc_domain->completes_in(*queue));
      const QpState state = qp.endpoint().state();
      if (!uses_it || state == QpState::kReset || state == QpState::kError) return;
      qp.endpoint().to_error();
      events_.on_qp_event(qp.number(), transport::QpEvent::kFatal);
      scheduler_.wake(qp);
    });
  }
  overrun_.clear();
}

}  // namespace urnic::nic
