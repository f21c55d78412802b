// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Engine: one lock, and which thread runs a round when.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "nic/clock.h"
#include "nic/config.h"
#include "nic/diagnostics/device_counters.h"
#include "nic/engine/engine_lock.h"
#include "nic/engine/event_dispatcher.h"
#include "nic/engine/lock_step.h"
#include "nic/engine/opened_port.h"
#include "nic/engine/pipeline.h"
#include "nic/engine/progress_thread.h"
#include "nic/engine/tables.h"
#include "nic/path/gid_table.h"
#include "nic/queues/needs/queue_engine.h"
#include "nic/rdma_cm/rdma_cm.h"
#include "transport/counters.h"
#include "transport/result.h"
#include "transport/time.h"
#include "transport/types.h"

namespace urnic::nic {

class ConnectionWatch;
class FailureLog;
class Recorder;

/// Any thread that gets the lock runs rounds: the program's threads inside their verbs, and the NIC's own
/// thread (progress_thread.h). A thread that posts runs the sending half only: one request after the other is
/// posted faster than frames come, and a thread that polls, or else the NIC's, looks for frames anyway. A
/// thread that holds the lock waits for nothing.
class Engine final : public QueueEngine {
 public:
  Engine(const DeviceConfig& config, const Clock& clock, const GidTable& gids);
  ~Engine() override;

  /// Takes the port and what comes with it, and starts the NIC's thread unless progress is manual; called
  /// once. The error is the thread's.
  Result<void, Error> start(OpenedPort opened);
  bool is_started() const { return is_started_.load(std::memory_order_acquire); }
  /// Before there are queues.
  using DeviceFacts::use;
  /// Stops the NIC's thread. Rounds can still be run.
  void stop();

  /// One round, if no other thread is at it; further ones when other threads could not get the lock
  /// meanwhile.
  Pipeline::Round try_round();

  /// A verb waits for what the engine does: some time goes by, about `real_time` where time is real. Not
  /// under the lock.
  void pause(transport::Duration real_time);

  void lock() override;
  void unlock() override;
  /// For the NIC's thread: the lock, in the first case only if it is free, without the rounds that unlock()
  /// runs. Afterwards is_asked() says whether another thread relies on one.
  std::unique_lock<EngineLock> try_hold() { return std::unique_lock(lock_, std::try_to_lock); }
  std::unique_lock<EngineLock> hold() { return std::unique_lock(lock_); }
  bool is_asked() const { return lock_.is_asked(); }

  void flush_responses(QueuePair& qp) override;
  void receive_what_has_come() override;

  // --- Under the lock, except where noted ---

  void find_next_hop(const AddressVector& to) override;
  void take_only_from(transport::QpNumber qp, const std::optional<transport::wire::Mac>& station) override;
  Result<HostRoute, Error> way_to(const AddressVector& to) const override;
  Pipeline& pipeline() { return pipeline_; }
  Tables& tables() { return tables_; }
  EventDispatcher& events() { return events_; }
  /// What it has to say to its peers leaves when the lock is released.
  rdma_cm::RdmaCm& rdma_cm() { return pipeline_.gsi().rdma_cm(); }

  // --- Any thread ---

  /// Where failures are reported; null unless the device is to explain them.
  FailureLog* failures() const { return failures_.get(); }
  transport::Counters& counters() { return counters_; }
  const DeviceCounters& drops() const { return drops_; }

 private:
  // What the queues ask for; see QueueEngine.
  void on_poll() override;
  void ring(QueuePair& qp) override;
  bool ring_with_next(QueuePair& qp) override;
  bool has_rung() const override { return pipeline_.has_rung(); }
  void on_queue_armed() override { thread_.queue_armed(); }
  void on_queue_disarmed() override { thread_.queue_disarmed(); }
  void on_notification_requested() override;
  void on_deadline(transport::Time due) override { thread_.on_deadline(due); }
  void unschedule(QueuePair& qp) override { pipeline_.unschedule(qp); }
  std::unique_ptr<QpMonitor> make_monitor(QueuePair& qp) override;
  void add_to_publish(CompletionQueue& queue) override { pipeline_.publisher().add(queue); }
  void add_put_off(CompletionQueue& queue) override { pipeline_.publisher().add_put_off(queue); }
  void on_cq_overrun(CompletionQueue& queue) override { pipeline_.on_cq_overrun(queue); }
  void on_srq_limit(SharedReceiveQueue& srq) override { events_.on_srq_limit(srq); }

  /// Why a round is run.
  enum class Occasion : std::uint8_t { kOther, kPost, kPoll };
  Pipeline::Round try_rounds(Occasion occasion);
  bool run_and_unlock(Occasion occasion, Pipeline::Round& all);
  bool is_run_by_verbs() const {
    return config().progress == ProgressMode::kHybrid || config().progress == ProgressMode::kLockStep;
  }
  void send_what_waits();
  bool is_peer_here();

  EngineLock lock_;
  std::atomic<bool> is_started_{false};
  transport::Counters counters_;
  DeviceCounters drops_;
  std::unique_ptr<FailureLog> failures_;
  Tables tables_;
  EventDispatcher events_;
  Pipeline pipeline_;
  std::unique_ptr<Recorder> recorder_;                 // null unless the port takes notes
  std::unique_ptr<ConnectionWatch> connection_watch_;  // null unless failures are to be explained
  HostRoutes routes_;                                  // none where the NIC has addresses of its own
  ProgressThread thread_;
  std::unique_ptr<LockStep> lock_step_;  // null unless the port's wire grants the time
};

}  // namespace urnic::nic
