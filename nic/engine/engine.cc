// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/engine.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "nic/diagnostics/connection_watch.h"
#include "nic/diagnostics/failure_log.h"
#include "nic/diagnostics/qp_watch.h"
#include "nic/engine/farewell.h"
#include "nic/engine/poll_spell.h"
#include "nic/errors.h"
#include "nic/process/uncancelled_pause.h"
#include "nic/queues/queue_pair.h"
#include "nic/recording/recorder.h"

namespace urnic::nic {

using transport::Time;

namespace {

bool has_choice_of_processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1;
}

}  // namespace

Engine::Engine(const DeviceConfig& config, const Clock& clock, const GidTable& gids)
    : QueueEngine(config, clock, gids),
      failures_(config.explain ? std::make_unique<FailureLog>() : nullptr),
      tables_(config, gids),
      events_(tables_.queue_pairs),
      pipeline_({.config = config,
                 .clock = clock,
                 .gids = gids,
                 .tables = tables_,
                 .events = events_,
                 .drops = drops_,
                 .counters = counters_,
                 .failures = failures_.get()}),
      thread_(*this) {
  if (tables_.deregistered_keys != nullptr) use(*tables_.deregistered_keys);
  if (failures_ == nullptr) return;
  connection_watch_ = std::make_unique<ConnectionWatch>(config, clock, tables_.neighbors, *failures_);
  rdma_cm().set_observer(*connection_watch_);
}

Engine::~Engine() {
  stop();
}

void Engine::stop() {
  thread_.stop();
  if (lock_step_ != nullptr) lock_step_->stop();
}

void Engine::pause(transport::Duration real_time) {
  if (lock_step_ != nullptr) return lock_step_->step();
  pause_uncancelled(real_time);
}

Result<void, Error> Engine::start(OpenedPort opened) {
  {
    const std::lock_guard guard(*this);
    tables_.queue_pairs.use(opened.numbers);
    if (opened.journal != nullptr) {
      recorder_ = std::make_unique<Recorder>(*opened.journal, clock(), counters_, drops_);
      use(*recorder_);
      pipeline_.use(*recorder_);
    }
    routes_ = opened.routes;
    rdma_cm().use(opened.numbers, std::move(opened.host), std::move(opened.routes));
    rdma_cm().probe_by(std::move(opened.probes));
    if (opened.time != nullptr) lock_step_ = std::make_unique<LockStep>(*this, *opened.time);
    pipeline_.attach(std::move(opened.port));
    if (opened.last_words != nullptr) pipeline_.gsi().use(std::move(opened.last_words));
  }
  if (lock_step_ != nullptr) {
    if (auto started = lock_step_->start(); !started) return started;
  } else if (config().progress != ProgressMode::kManual) {
    if (auto started = thread_.start(config().progress); !started) return started;
  }
  is_started_.store(true, std::memory_order_release);
  return success();
}

Pipeline::Round Engine::try_round() {
  return try_rounds(Occasion::kOther);
}

Pipeline::Round Engine::try_rounds(Occasion occasion) {
  Pipeline::Round all;
  if (is_abandoned() || !is_started()) return all;
  // More than a few only when others ring faster than we can run; the last of them then runs a round, or the
  // thread.
  constexpr int kMaxRounds = 8;
  for (int i = 0; i < kMaxRounds; ++i) {
    if (!lock_.try_lock()) return all;
    const bool is_asked = run_and_unlock(occasion, all);
    if (config().progress == ProgressMode::kManual || !is_asked) return all;
  }
  thread_.wake();
  return all;
}

/// Runs a round under the lock, adds to `all` what it did, and lets go. Whether another thread has asked for
/// one meanwhile.
bool Engine::run_and_unlock(Occasion occasion, Pipeline::Round& all) {
  lock_.take_question();
  const Time now = clock().now();
  Pipeline::Round round;
  if (occasion == Occasion::kPost) {
    round.worked = pipeline_.run_sending_half(now);
  } else {
    round = pipeline_.run(now);
  }
  if (occasion != Occasion::kOther) thread_.on_application_round(occasion == Occasion::kPoll, now);
  all.began = now;
  all.worked |= round.worked;
  all.received += round.received;
  return lock_.unlock();
}

void Engine::lock() {
  lock_.lock();
}

// A thread that rings while another one has the lock relies on that one to look again.
void Engine::unlock() {
  // The connection manager may have something to send now, or to wait for, and so may multicast groups.
  const Time next_report = tables_.reports.next_timeout();
  const bool has_report = next_report != transport::kNever && next_report <= clock().now();
  const bool has_messages = is_started() && (has_report || pipeline_.gsi().has_outgoing());
  thread_.on_deadline(std::min(next_report, pipeline_.gsi().next_timeout()));
  const bool is_asked = lock_.unlock();
  if (lock_step_ != nullptr) lock_step_->note_call();
  if (is_run_by_verbs() && (has_messages || is_asked)) try_rounds(Occasion::kOther);
}

void Engine::on_poll() {
  if (config().progress != ProgressMode::kHybrid) {
    if (lock_step_ != nullptr && is_started()) lock_step_->on_poll();
    return;
  }
  const Pipeline::Round round = try_rounds(Occasion::kPoll);
  if (round.worked || round.began == Time{}) return;
  PollSpell& spell = PollSpell::of_this_thread();
  if (!spell.on_empty_poll(round.began) || !is_peer_here()) return;
  if (spell.should_sleep(round.began) && has_choice_of_processors()) {
    pause_uncancelled(std::chrono::nanoseconds(1));
  } else {
    std::this_thread::yield();
  }
}

/// Whether a peer's program polled last on the processor that this thread runs on: one of the two waits for
/// the other's turn to end.
bool Engine::is_peer_here() {
  const int processor = sched_getcpu();
  if (processor < 0 || !lock_.try_lock()) return false;
  PacketPort& port = pipeline_.port();
  port.note_poller(static_cast<std::uint32_t>(processor));
  const bool is_here = port.has_poller_on(static_cast<std::uint32_t>(processor));
  if (lock_.unlock()) try_rounds(Occasion::kOther);
  return is_here;
}

// A thread that does not get the lock leaves a doorbell.
void Engine::ring(QueuePair& qp) {
  const bool may_run = is_run_by_verbs() && !is_abandoned() && is_started();
  if (may_run && lock_.try_lock()) {
    pipeline_.wake(qp);
    Pipeline::Round round;
    if (run_and_unlock(Occasion::kPost, round)) try_rounds(Occasion::kPost);
    return;
  }
  pipeline_.ring(qp);
  const bool has_holder = lock_.ask();
  switch (config().progress) {
    case ProgressMode::kHybrid:
    case ProgressMode::kLockStep:
      if (!has_holder) try_rounds(Occasion::kPost);
      break;
    case ProgressMode::kThread:
      thread_.on_doorbell();
      break;
    case ProgressMode::kManual:
      break;
  }
}

// The thread may stop watching at any time. It looks at doorbells after it has said so, and we look at what
// it says after ours has rung: one of us sees the other.
bool Engine::ring_with_next(QueuePair& qp) {
  if (thread_.relies_on_polls()) {
    pipeline_.ring(qp);
    if (thread_.relies_on_polls()) return true;
  }
  ring(qp);
  return false;
}

// What was left to the next poll.
void Engine::send_what_waits() {
  if (is_run_by_verbs() && has_rung()) try_rounds(Occasion::kOther);
}

// The program may sleep now, and not poll.
void Engine::on_notification_requested() {
  send_what_waits();
  thread_.on_notification_requested();
}

void Engine::flush_responses(QueuePair& qp) {
  send_what_waits();
  send_last_responses(*this, qp);
}

void Engine::receive_what_has_come() {
  if (is_started()) take_arrivals(*this);
}

void Engine::find_next_hop(const AddressVector& to) {
  if (!is_started()) return;
  const auto source = gids().at(to.source_gid_index);
  if (source) pipeline_.port().find_next_hop(*source, to.destination);
}

void Engine::take_only_from(transport::QpNumber qp, const std::optional<transport::wire::Mac>& station) {
  if (is_started()) pipeline_.port().take_only_from(qp, station);
}

// A host that knows no way now may know one when the program sends.
Result<HostRoute, Error> Engine::way_to(const AddressVector& to) const {
  const HostRoute unknown{.source = {}, .mtu = config().link_mtu};
  if (!routes_) return unknown;
  auto way = routes_({.destination = to.destination,
                      .scope = gids().interface_index_at(to.source_gid_index),
                      .source = gids().at(to.source_gid_index).value_or(transport::wire::Gid{})});
  if (!way && way.error().code != ENONET) return unknown;
  return way;
}

std::unique_ptr<QpMonitor> Engine::make_monitor(QueuePair& qp) {
  std::unique_ptr<QpMonitor> monitor;
  if (failures_ != nullptr) {
    monitor = std::make_unique<QpWatch>(
        QpWatch::Facts{
            .config = config(), .clock = clock(), .memory = tables_.memory, .neighbors = tables_.neighbors},
        *failures_, qp);
  }
  return recorder_ != nullptr ? recorder_->watch(qp, std::move(monitor)) : std::move(monitor);
}

}  // namespace urnic::nic
