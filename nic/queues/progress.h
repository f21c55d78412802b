// Progress: what queue pairs and completion queues ask of the engine that makes them go.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "nic/clock.h"
#include "nic/config.h"
#include "nic/path/gid_table.h"
#include "nic/path/path.h"
#include "nic/port/host_route.h"
#include "transport/result.h"
#include "transport/time.h"
#include "transport/types.h"

namespace urnic::nic {

class CompletionQueue;
class PostObserver;
class QpMonitor;
class QueuePair;
class SharedReceiveQueue;

/// The queues know this face of the engine and nothing else of it; the engine knows the queues themselves.
///
/// lock() and unlock() make it a lock in the standard's sense (std::lock_guard): control verbs hold it while
/// they change what the engine uses. A thread that holds it waits for nothing: not for a frame, nor for room
/// in the port.
class Progress {
 public:
  Progress(const DeviceConfig& config, const Clock& clock, const GidTable& gids)
      : config_(config), clock_(clock), gids_(gids) {}
  virtual ~Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  const DeviceConfig& config() const { return config_; }
  const Clock& clock() const { return clock_; }
  const GidTable& gids() const { return gids_; }
  /// Null for most devices. Any thread.
  PostObserver* post_observer() const { return post_observer_; }

  /// In the child of a fork: the device belongs to the parent, and nothing here may touch a lock.
  void abandon() { is_abandoned_.store(true, std::memory_order_relaxed); }
  bool is_abandoned() const { return is_abandoned_.load(std::memory_order_relaxed); }

  /// Waits; afterwards does what other threads rang for meanwhile.
  virtual void lock() = 0;
  virtual void unlock() = 0;

  // --- Told by the program's threads ---

  /// The program polls, and finds nothing or has_rung().
  virtual void on_poll() = 0;
  /// The program has posted work on `qp`, or changed its state.
  virtual void ring(QueuePair& qp) = 0;
  /// The program has posted work on `qp` that may be sent together with what it posts next, or when it polls: if it is
  /// one that polls. Otherwise ring(). Whether it was left so.
  virtual bool ring_with_next(QueuePair& qp) = 0;
  /// Whether work was posted that no round has looked at yet.
  virtual bool has_rung() const = 0;
  /// The program wants to be woken by a completion, or does not any more.
  virtual void on_queue_armed() = 0;
  virtual void on_queue_disarmed() = 0;
  /// After on_queue_armed(): the program may go to sleep now.
  virtual void on_notification_requested() = 0;
  /// Before `qp` forgets its pending acknowledgements and responses: sends them, and first what was posted with
  /// ring_with_next(), unless the port stays full for long. Takes the lock.
  virtual void flush_responses(QueuePair& qp) = 0;

  // --- Under the lock ---

  /// Something will soon be sent there.
  virtual void find_next_hop(const AddressVector& to) = 0;
  /// See PacketPort::take_only_from().
  virtual void take_only_from(transport::QpNumber qp, const std::optional<transport::wire::Mac>& station) = 0;
  /// What is known of the way there: the largest IP packet of the link unless the host's routes say less. ENONET: the
  /// NIC reaches its own host alone.
  virtual Result<HostRoute, Error> way_to(const AddressVector& to) const = 0;
  /// Takes `qp` out of turn: it forgets its state.
  virtual void unschedule(QueuePair& qp) = 0;
  /// What keeps facts that explain failures of `qp`; null unless the device is to explain them.
  virtual std::unique_ptr<QpMonitor> make_monitor(QueuePair& qp) = 0;
  /// A queue has something to publish at the end of this round.
  virtual void add_to_publish(CompletionQueue& queue) = 0;
  /// A queue has put off a notification, which is due at that time.
  virtual void add_put_off(CompletionQueue& queue) = 0;
  /// Something is due then that no round has been told of yet.
  virtual void on_deadline(transport::Time due) = 0;
  /// A completion did not fit into `queue` and is lost: at the end of this round its queue pairs go to ERR.
  virtual void on_cq_overrun(CompletionQueue& queue) = 0;
  virtual void on_srq_limit(SharedReceiveQueue& srq) = 0;

 protected:
  /// Before there are queues.
  void use(PostObserver& observer) { post_observer_ = &observer; }

 private:
  const DeviceConfig& config_;
  const Clock& clock_;
  const GidTable& gids_;
  PostObserver* post_observer_ = nullptr;
  std::atomic<bool> is_abandoned_{false};
};

}  // namespace urnic::nic
