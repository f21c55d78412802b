// Engine: what makes a device go. One lock, one round.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "nic/clock.h"
#include "nic/config.h"
#include "nic/diagnostics/device_counters.h"
#include "nic/engine/engine_lock.h"
#include "nic/engine/progress_thread.h"
#include "nic/engine/receiver.h"
#include "nic/engine/scheduler.h"
#include "nic/engine/time_wait.h"
#include "nic/engine/transmitter.h"
#include "nic/event_handlers.h"
#include "nic/memory/memory_table.h"
#include "nic/packet_port.h"
#include "nic/path/address_handles.h"
#include "nic/path/gid_table.h"
#include "nic/path/multicast_groups.h"
#include "nic/path/neighbor_cache.h"
#include "nic/queues/progress.h"
#include "nic/queues/queue_pair_table.h"
#include "nic/raw/flow_table.h"
#include "transport/counters.h"
#include "transport/endpoint.h"
#include "transport/result.h"

namespace urnic::nic {

class FailureLog;

/// A round receives frames, expires timers, sends, and then makes completions visible: incoming frames come
/// before timers, because on starved cores an acknowledgement often waits while its timer runs out, and
/// completions come last, because the acknowledgement that goes with one leaves before it is seen.
///
/// Rounds are run by whoever gets the lock: the program's threads inside its verbs, and the NIC's own thread
/// (progress_thread.h). Who posts runs the second half only: one request after the other is posted faster
/// than frames come, and who polls, or the NIC's thread where nobody does, looks for them anyway. Nobody
/// waits for anything while holding the lock.
class Engine final : public Progress, private transport::QpEventSink {
 public:
  Engine(const DeviceConfig& config, const Clock& clock, const GidTable& gids);
  ~Engine() override;

  /// Takes the port, and starts the NIC's thread unless progress is manual; called once. The error is the
  /// thread's.
  Result<void, Error> start(std::unique_ptr<PacketPort> port);
  bool is_started() const { return is_started_.load(std::memory_order_acquire); }

  /// Stops the NIC's thread. Rounds can still be run.
  void stop() { thread_.stop(); }

  // --- Rounds; any thread ---

  struct Round {
    bool worked = false;       ///< anything at all was done
    std::size_t received = 0;  ///< frames
  };

  /// One round, if nobody else is at it; further ones when somebody could not get the lock meanwhile.
  Round try_round();

  /// What is known of a neighbor, which is asked for if that is nothing.
  NeighborCache::State resolve(const transport::wire::Gid& destination, transport::Time now) {
    const std::lock_guard guard(*this);
    return neighbors_.resolve(destination, now).state;
  }

  // --- What the queues ask for; see Progress ---

  void lock() override;
  void unlock() override;
  void on_poll() override;
  void ring(QueuePair& qp) override;
  void on_queue_armed() override { thread_.queue_armed(); }
  void on_queue_disarmed() override { thread_.queue_disarmed(); }
  void on_notification_requested() override { thread_.on_notification_requested(); }
  void flush_responses(QueuePair& qp) override;
  void unschedule(QueuePair& qp) override;
  std::unique_ptr<QpMonitor> make_monitor(QueuePair& qp) override;
  void add_to_publish(CompletionQueue& queue) override { to_publish_.push_back(&queue); }
  void add_put_off(CompletionQueue& queue) override;
  void on_deadline(transport::Time due) override { thread_.on_deadline(due); }
  void on_cq_overrun(CompletionQueue& queue) override { overrun_.push_back(&queue); }
  void on_srq_limit(SharedReceiveQueue& srq) override;

  // --- Under the lock ---

  PacketPort& port() { return *port_; }
  MemoryTable& memory() { return memory_; }
  QueuePairTable& queue_pairs() { return queue_pairs_; }
  AddressHandles& address_handles() { return address_handles_; }
  MulticastGroups& groups() { return groups_; }
  FlowTable& flows() { return flows_; }
  const NeighborCache& neighbors() const { return neighbors_; }
  /// Where failures are reported; null unless the device is to explain them.
  FailureLog* failures() const { return failures_.get(); }

  /// Acknowledgements that wait for something to leave with are due.
  void flush_delayed_acks();
  /// One round at time `now`.
  Round run_round(transport::Time now);
  /// Its second half: sends, and makes completions visible.
  bool run_sending_half(transport::Time now);
  /// When the next round must run at the latest: not after `now` while anybody waits for a turn.
  transport::Time next_deadline(transport::Time now) const;
  /// Whether everything that peers wait for has been sent, and those that might repeat a request, because
  /// frames get lost here, had the time to do so.
  bool is_drained(transport::Time now);
  /// Whether any frame was sent so lately that somebody may still wait for one.
  bool has_sent_lately(transport::Time now) const;

  /// The end of a queue pair. It stays in TIME-WAIT, if it was ever connected.
  void enter_time_wait(QueuePair& qp, transport::Time now);
  /// There will be no more than `count` completion queues, so that publishing need not allocate.
  void expect_queues(std::size_t count) {
    to_publish_.reserve(count);
    put_off_.reserve(count);
    overrun_.reserve(count);
  }
  /// The end of a completion queue.
  void forget_queue(CompletionQueue& queue);

  void set_event_handlers(EventHandlers handlers) { handlers_ = std::move(handlers); }
  transport::QpEventSink& events() { return *this; }

  // --- Counters; any thread ---

  transport::Counters& counters() { return counters_; }
  const DeviceCounters& drops() const { return drops_; }

 private:
  friend class ProgressThread;

  void on_qp_event(transport::QpNumber qp, transport::QpEvent event) override;
  void on_loss() override { has_seen_loss_ = true; }

  static constexpr std::size_t kReceiveBurst = 64;

  std::size_t receive(transport::Time& now);
  bool expire_timers(transport::Time now);
  bool publish(transport::Time now);
  bool notify_late(transport::Time now);
  void fail_users_of_overrun();

  /// Why a round is run.
  enum class Occasion : std::uint8_t { kOther, kPost, kPoll };
  Round try_rounds(Occasion occasion);

  EngineLock lock_;
  std::atomic<bool> is_started_{false};
  std::unique_ptr<PacketPort> port_;

  transport::Counters counters_;
  DeviceCounters drops_;
  std::unique_ptr<FailureLog> failures_;
  MemoryTable memory_;
  QueuePairTable queue_pairs_;
  AddressHandles address_handles_;
  MulticastGroups groups_;
  FlowTable flows_;
  NeighborCache neighbors_;
  Scheduler scheduler_;
  TimeWait time_wait_;
  Transmitter transmitter_;
  Receiver receiver_;
  bool has_seen_loss_ = false;  // a queue pair did, at any time
  /// Of one burst. Most rounds find no frame, and clearing an array of their own would be a large part of
  /// them.
  std::array<std::span<const std::byte>, kReceiveBurst> frames_;
  std::vector<CompletionQueue*> to_publish_;  // in the order in which they got something
  std::vector<CompletionQueue*> put_off_;     // with a notification that is to come
  std::vector<CompletionQueue*> overrun_;
  EventHandlers handlers_;
  ProgressThread thread_;
};

}  // namespace urnic::nic
