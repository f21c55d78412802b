#include "nic/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "nic/diagnostics/failure_log.h"
#include "nic/diagnostics/qp_watch.h"
#include "nic/errors.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/queue_pair.h"
#include "nic/queues/shared_receive_queue.h"
#include "nic/queues/xrc_domain.h"

namespace urnic::nic {

using transport::Duration;
using transport::QpState;
using transport::Time;

namespace {

constexpr std::size_t kTimersPerRound = 64;
/// A full port is tried again after this long when nothing else happens.
constexpr Duration kFullPortDelay = std::chrono::microseconds(500);
/// A peer that lost our last acknowledgement repeats its request after its timeout, for many 67 ms (fact 36).
/// Where frames get lost, one repetition is not enough: a ping-pong with rdma_rxe that loses a fifth of all
/// frames lost two in a row and the kernel, for which seven retries are no limit, then asked for ever.
constexpr Duration kRepeatTime = std::chrono::milliseconds(400);
constexpr Duration kSentLately = std::chrono::seconds(1);
/// What a queue pair may take to send its last responses.
constexpr Duration kLongestFarewell = std::chrono::milliseconds(5);
/// The same where the clock does not move by itself.
constexpr int kMostFarewellRounds = 1000;

}  // namespace

Engine::Engine(const DeviceConfig& config, const Clock& clock, const GidTable& gids)
    : Progress(config, clock, gids),
      failures_(config.explain ? std::make_unique<FailureLog>() : nullptr),
      memory_(config.seed, config.type_2_windows),
      queue_pairs_(config.seed),
      neighbors_(config, gids),
      transmitter_({.neighbors = neighbors_,
                    .address_handles = address_handles_,
                    .scheduler = scheduler_,
                    .time_wait = time_wait_,
                    .drops = drops_,
                    .counters = counters_}),
      receiver_({.config = config,
                 .gids = gids,
                 .queue_pairs = queue_pairs_,
                 .groups = groups_,
                 .flows = flows_,
                 .time_wait = time_wait_,
                 .neighbors = neighbors_,
                 .scheduler = scheduler_,
                 .transmitter = transmitter_,
                 .drops = drops_,
                 .counters = counters_,
                 .failures = failures_.get()}),
      thread_(*this) {}

Engine::~Engine() {
  stop();
}

Result<void, Error> Engine::start(std::unique_ptr<PacketPort> port) {
  {
    const std::lock_guard guard(*this);
    port_ = std::move(port);
    transmitter_.attach(*port_);
  }
  if (config().progress != ProgressMode::kManual) {
    if (auto started = thread_.start(config().progress); !started) return started;
  }
  is_started_.store(true, std::memory_order_release);
  return success();
}

// --- Rounds ---

Engine::Round Engine::run_round(Time now) {
  scheduler_.take_doorbells();
  Round round{.received = receive(now)};
  bool worked = round.received > 0;
  worked |= expire_timers(now);
  worked |= run_sending_half(now);
  round.worked = worked;
  return round;
}

bool Engine::run_sending_half(Time now) {
  bool worked = transmitter_.run(now);
  port_->flush();
  worked |= publish(now);
  if (!put_off_.empty()) worked |= notify_late(now);
  if (!overrun_.empty()) fail_users_of_overrun();
  return worked;
}

// The clock is read again when there are frames: what they start, the wait after an RNR NAK for instance,
// must not count from before they came, and between the beginning of the round and now this thread may have
// been without a processor.
std::size_t Engine::receive(Time& now) {
  const std::size_t count = port_->receive(frames_);
  if (count > 0) now = clock().now();
  for (std::size_t i = 0; i < count; ++i) receiver_.on_frame(frames_[i], now);
  return count;
}

bool Engine::expire_timers(Time now) {
  bool worked = false;
  for (std::size_t i = 0; i < kTimersPerRound; ++i) {
    QueuePair* const qp = scheduler_.pop_expired(now);
    if (qp == nullptr) break;
    if (qp->endpoint().next_timeout() > now) {
      // It became later, or was stopped, after it was registered.
      scheduler_.expect_timeout(*qp);
      continue;
    }
    // A peer that does not acknowledge may have moved to another MAC.
    if (qp->endpoint().on_timeout(now)) neighbors_.suspect(qp->path().destination(), now);
    scheduler_.wake(*qp);
    worked = true;
  }
  return worked;
}

bool Engine::publish(Time now) {
  bool worked = false;
  std::erase_if(to_publish_, [&](CompletionQueue* queue) {
    worked |= queue->publish(now);
    return !queue->has_unpublished();
  });
  return worked;
}

/// Sends the notifications that were put off until now.
bool Engine::notify_late(Time now) {
  bool worked = false;
  std::erase_if(put_off_, [&](CompletionQueue* queue) {
    worked |= queue->notify_if_due(now);
    return !queue->is_put_off();
  });
  return worked;
}

Time Engine::next_deadline(Time now) const {
  if (transmitter_.is_blocked()) return now + kFullPortDelay;
  if (!scheduler_.is_idle() || !to_publish_.empty()) return now;
  Time deadline = std::min(scheduler_.next_timeout(), neighbors_.next_timeout());
  for (const CompletionQueue* const queue : put_off_) {
    deadline = std::min(deadline, queue->notification_due());
  }
  return deadline;
}

Engine::Round Engine::try_round() {
  return try_rounds(Occasion::kOther);
}

Engine::Round Engine::try_rounds(Occasion occasion) {
  Round all;
  if (is_abandoned() || !is_started()) return all;
  // More than a few only when others ring faster than we can run; the last of them then runs a round, or the
  // thread.
  constexpr int kMaxRounds = 8;
  for (int i = 0; i < kMaxRounds; ++i) {
    if (!lock_.try_lock()) return all;
    const Time now = clock().now();
    Round round;
    if (occasion == Occasion::kPost) {
      scheduler_.take_doorbells();
      round.worked = run_sending_half(now);
    } else {
      round = run_round(now);
    }
    if (occasion != Occasion::kOther) thread_.on_application_round(occasion == Occasion::kPoll, now);
    lock_.unlock();
    all.worked |= round.worked;
    all.received += round.received;
    if (config().progress == ProgressMode::kManual || !scheduler_.has_doorbells()) return all;
  }
  thread_.wake();
  return all;
}

void Engine::flush_responses(QueuePair& qp) {
  const Time end = clock().now() + kLongestFarewell;
  for (int i = 0; i < kMostFarewellRounds && clock().now() < end; ++i) {
    const std::lock_guard guard(*this);
    if (!qp.endpoint().has_pending_response()) return;
    qp.endpoint().flush_delayed_ack();
    scheduler_.wake(qp);
    run_round(clock().now());
  }
}

void Engine::flush_delayed_acks() {
  queue_pairs_.for_each([this](QueuePair& qp) {
    if (!qp.endpoint().has_pending_response()) return;
    qp.endpoint().flush_delayed_ack();
    scheduler_.wake(qp);
  });
}

void Engine::on_poll() {
  if (config().progress == ProgressMode::kHybrid) try_rounds(Occasion::kPoll);
}

void Engine::ring(QueuePair& qp) {
  scheduler_.ring(qp);
  switch (config().progress) {
    case ProgressMode::kHybrid:
      try_rounds(Occasion::kPost);
      break;
    case ProgressMode::kThread:
      thread_.on_doorbell();
      break;
    case ProgressMode::kManual:
      break;
  }
}

void Engine::lock() {
  lock_.lock();
}

// A thread that rings while another one has the lock relies on that one to look again.
void Engine::unlock() {
  lock_.unlock();
  if (config().progress == ProgressMode::kHybrid && scheduler_.has_doorbells()) try_rounds(Occasion::kOther);
}

// --- Queue pairs and completion queues ---

std::unique_ptr<QpMonitor> Engine::make_monitor(QueuePair& qp) {
  if (failures_ == nullptr) return nullptr;
  return std::make_unique<QpWatch>(
      QpWatch::Facts{.config = config(), .clock = clock(), .memory = memory_, .neighbors = neighbors_},
      *failures_, qp);
}

void Engine::add_put_off(CompletionQueue& queue) {
  put_off_.push_back(&queue);
}

void Engine::unschedule(QueuePair& qp) {
  scheduler_.remove(qp);
  for (CompletionQueue* const queue : to_publish_) queue->forget_acks(qp.number());
}

void Engine::enter_time_wait(QueuePair& qp, Time now) {
  scheduler_.take_doorbells();
  unschedule(qp);
  groups_.detach_from_all(qp);
  flows_.remove_all_of(qp.number());
  queue_pairs_.release(qp.number());
  const auto service = service_of(qp.attributes().type);
  const bool acknowledges =
      service == transport::wire::Service::kRc || service == transport::wire::Service::kXrc;
  if (qp.path().header_bytes() == 0 || !acknowledges) return;
  const transport::Endpoint& endpoint = std::as_const(qp).endpoint();
  time_wait_.add({.number = qp.number(),
                  .service = endpoint.config().service,
                  .peer = endpoint.config().remote_qp,
                  .expected = endpoint.next_receive_psn(),
                  .acknowledged = endpoint.acknowledgeable_psn(),
                  .msn = endpoint.msn(),
                  .path = qp.path()},
                 now);
}

void Engine::forget_queue(CompletionQueue& queue) {
  std::erase(to_publish_, &queue);
  std::erase(put_off_, &queue);
  std::erase(overrun_, &queue);
  queue.retire();
}

void Engine::on_qp_event(transport::QpNumber number, transport::QpEvent event) {
  QueuePair* const qp = queue_pairs_.find(number);
  if (qp == nullptr) return;
  if (qp->attributes().type == QpType::kWorkQueue) {
    if (event == transport::QpEvent::kFatal && handlers_.on_wq_fatal) handlers_.on_wq_fatal(qp->context());
  } else if (handlers_.on_qp) {
    handlers_.on_qp(qp->context(), event);
  }
}

void Engine::on_srq_limit(SharedReceiveQueue& srq) {
  if (handlers_.on_srq_limit) handlers_.on_srq_limit(srq.context());
}

// Whoever relied on that completion would wait for ever: so they all hear of it.
void Engine::fail_users_of_overrun() {
  for (CompletionQueue* const queue : overrun_) {
    if (handlers_.on_cq_overrun) handlers_.on_cq_overrun(queue->context());
    queue_pairs_.for_each([&](QueuePair& qp) {
      const QpCreateAttributes& attributes = qp.attributes();
      const bool uses_it = attributes.send_queue == queue || attributes.receive_queue == queue ||
                           (attributes.xrc_domain != nullptr && attributes.xrc_domain->completes_in(*queue));
      if (!uses_it || qp.endpoint().state() == QpState::kReset || qp.endpoint().state() == QpState::kError) {
        return;
      }
      qp.endpoint().to_error();
      on_qp_event(qp.number(), transport::QpEvent::kFatal);
      scheduler_.wake(qp);
    });
  }
  overrun_.clear();
}

// --- Draining ---

bool Engine::has_sent_lately(Time now) const {
  return transmitter_.last_sent() != Time{} && now - transmitter_.last_sent() < kSentLately;
}

bool Engine::is_drained(Time now) {
  if (!scheduler_.is_idle() || !port_->is_drained()) return false;
  const bool frames_get_lost = has_seen_loss_ || time_wait_.has_acknowledged();
  return !frames_get_lost || now - transmitter_.last_sent() >= kRepeatTime;
}

}  // namespace urnic::nic
