// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/farewell.h"

#include <chrono>
#include <mutex>

#include "nic/engine/engine.h"
#include "nic/queues/queue_pair.h"

namespace urnic::nic {

using transport::Duration;
using transport::Time;
using namespace std::chrono_literals;

namespace {

/// What a queue pair may take to send its last responses and requests.
constexpr Duration kLongestFarewell = 5ms;
constexpr Duration kLongestLinger = 1s;
constexpr Duration kLingerPause = 50us;
/// How long both go on, in rounds, where the clock does not move by itself.
constexpr int kMostManualRounds = 1000;
/// A peer that misses a frame which was sent longer ago has asked for it again, or given up.
constexpr Duration kSentLately = 1s;
/// A peer that lost our last acknowledgement repeats its request after its timeout, for many 67 ms (fact 36).
/// Where frames get lost, one repetition is not enough: a ping-pong with rdma_rxe that loses a fifth of all
/// frames lost two in a row, and the kernel, for which seven retries are no limit, then repeated its request
/// without end.
constexpr Duration kRepeatTime = 400ms;

/// A peer that is connected by rdma_cm repeats its last request after the ACK timeout that it told in REQ or
/// REP (Linux: 2.1 s), and we repeat our DREQ after 5 s. The connection manager keeps the connection for so
/// long. An rsocket of rdma_rxe that missed the acknowledgement of its last message repeated it without end.
constexpr Duration kLongestTimewait = 6s;

bool has_connections_in_timewait(Engine& engine) {
  return engine.pipeline().has_seen_loss() && engine.rdma_cm().messages().connection_count() > 0;
}

/// Some in each hold of the lock, so that their messages leave, and no other thread waits for long.
void end_connections(Engine& engine) {
  for (bool has_more = true; has_more;) {
    const std::lock_guard guard(engine);
    has_more = engine.rdma_cm().end_some(engine.clock().now());
  }
}

void flush_delayed_acks(Engine& engine) {
  engine.tables().queue_pairs.for_each([&engine](QueuePair& qp) {
    if (qp.endpoint().has_pending_response()) engine.pipeline().flush_delayed_ack(qp);
  });
}

bool has_sent_lately(const Pipeline& pipeline, Time now) {
  return pipeline.last_sent() != Time{} && now - pipeline.last_sent() < kSentLately;
}

bool may_go(const Pipeline& pipeline, Time now) {
  if (!pipeline.is_drained()) return false;
  return !pipeline.has_seen_loss() || now - pipeline.last_sent() >= kRepeatTime;
}

void run_by_hand(Engine& engine) {
  {
    const std::lock_guard guard(engine);
    flush_delayed_acks(engine);
  }
  for (int i = 0; i < kMostManualRounds && engine.try_round().worked; ++i) {
  }
}

/// `must_run` is called under the lock.
template <typename MustRun>
void run_while(Engine& engine, const MustRun& must_run) {
  const Clock& clock = engine.clock();
  const Time end = clock.now() + kLongestFarewell;
  for (int i = 0; i < kMostManualRounds && clock.now() < end; ++i) {
    const std::lock_guard guard(engine);
    if (!must_run()) return;
    engine.pipeline().run(clock.now());
  }
}

}  // namespace

void take_arrivals(Engine& engine) {
  const Clock& clock = engine.clock();
  const Time end = clock.now() + kLongestFarewell;
  for (int i = 0; i < kMostManualRounds && clock.now() < end; ++i) {
    const std::lock_guard guard(engine);
    if (engine.pipeline().run(clock.now()).received == 0) return;
  }
}

void send_last_responses(Engine& engine, QueuePair& qp) {
  run_while(engine, [&engine, &qp] {
    if (!qp.endpoint().has_pending_response()) return false;
    engine.pipeline().flush_delayed_ack(qp);
    return true;
  });
}

void send_last_requests(Engine& engine, QueuePair& qp) {
  if (!is_unreliable(qp.attributes().type)) return;
  run_while(engine, [&qp] {
    const bool is_parked = qp.schedule().place == QpSchedule::Place::kParked;
    return qp.has_sends() && qp.endpoint().state() == transport::QpState::kReadyToSend && !is_parked;
  });
}

void send_last_requests(Engine& engine, transport::AddressHandleId address) {
  run_while(engine, [&engine, address] { return engine.pipeline().has_send_to(address); });
}

void wait_for_peers(Engine& engine) {
  end_connections(engine);
  if (engine.config().progress == ProgressMode::kManual) return run_by_hand(engine);
  const Time begin = engine.clock().now();
  for (Time now = begin;; now = engine.clock().now()) {
    bool worked = false;
    {
      const std::lock_guard guard(engine);
      const bool is_in_timewait = has_connections_in_timewait(engine);
      if (now - begin >= (is_in_timewait ? kLongestTimewait : kLongestLinger)) return;
      flush_delayed_acks(engine);
      if (!is_in_timewait && !has_sent_lately(engine.pipeline(), now)) return;
      worked = engine.pipeline().run(now).worked;
      if (!worked && !is_in_timewait && may_go(engine.pipeline(), now)) return;
    }
    if (!worked) engine.pause(kLingerPause);
  }
}

}  // namespace urnic::nic
