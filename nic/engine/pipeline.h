// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Pipeline: what one round does: frames in, timers, frames out, completions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nic/clock.h"
#include "nic/config.h"
#include "nic/diagnostics/device_counters.h"
#include "nic/engine/completion_publisher.h"
#include "nic/engine/event_dispatcher.h"
#include "nic/engine/gsi.h"
#include "nic/engine/receiver.h"
#include "nic/engine/scheduler.h"
#include "nic/engine/tables.h"
#include "nic/engine/time_wait.h"
#include "nic/engine/transmitter.h"
#include "nic/path/gid_table.h"
#include "nic/port/link_gate.h"
#include "nic/port/packet_port.h"
#include "transport/counters.h"
#include "transport/time.h"

namespace urnic::nic {

class FailureLog;
class Recorder;

/// A round receives frames, expires timers, sends, and then makes completions visible: incoming frames come
/// before timers, because on starved cores an acknowledgement often waits while its timer runs out, and
/// completions come last, because the acknowledgement that goes with one leaves before it is seen.
///
/// One round may not receive all that waits in the port. What waits for a peer's answer expires only when
/// everything that had come in time was received: a process that was stopped, for however long, misses no
/// answer that came meanwhile. A flood holds that up for some milliseconds at most.
///
/// All calls under the engine lock, except where noted.
class Pipeline {
 public:
  struct Dependencies {
    const DeviceConfig& config;
    const Clock& clock;
    const GidTable& gids;
    Tables& tables;
    EventDispatcher& events;
    DeviceCounters& drops;
    transport::Counters& counters;
    FailureLog* failures = nullptr;  ///< null: the device does not explain failures
  };

  explicit Pipeline(const Dependencies& dependencies);

  /// The port that frames come from and go to; before any other call.
  void attach(std::unique_ptr<PacketPort> port);
  /// Told of every frame that is received.
  void use(Recorder& recorder) { recorder_ = &recorder; }
  PacketPort& port() { return *port_; }
  /// Takes the link of the port down, or up again. Allocates the first time.
  void set_link(bool is_up);

  // --- Rounds ---

  struct Round {
    bool worked = false;       ///< anything at all was done
    std::size_t received = 0;  ///< frames
    transport::Time began{};   ///< the last one of several; the epoch where none could be run
  };

  Round run(transport::Time now);
  /// The second half: sends, and makes completions visible.
  bool run_sending_half(transport::Time now);
  /// When the next round must run at the latest: not after `now` while a queue pair waits for a turn.
  transport::Time next_deadline(transport::Time now) const;

  // --- What a round shall look at ---

  /// Work was posted on `qp`. Any thread.
  void ring(QueuePair& qp) { scheduler_.ring(qp); }
  /// Whether no round has looked at that yet. Any thread.
  bool has_rung() const { return scheduler_.has_rung(); }
  /// The same, under the engine lock: it gets a turn in the next half or whole round.
  void wake(QueuePair& qp) { scheduler_.wake(qp); }
  CompletionPublisher& publisher() { return publisher_; }
  /// There will be no more than `count` completion queues, so that rounds need not allocate.
  void expect_queues(std::size_t count);
  /// There will be no more than `count` queue pairs; likewise.
  void expect_queue_pairs(std::size_t count) { scheduler_.expect(count); }
  /// A completion did not fit into `queue`: at the end of the round its queue pairs go to ERR.
  void on_cq_overrun(CompletionQueue& queue) { overrun_.push_back(&queue); }

  /// Whether a datagram to there waits for its turn or for room in the port. Datagrams to a peer whose MAC
  /// the NIC still asks for do not count.
  bool has_send_to(transport::AddressHandleId address) {
    scheduler_.take_doorbells();
    return scheduler_.has_send_to(address);
  }

  /// The pending ACK of `qp` leaves now and does not wait for more packets.
  void flush_delayed_ack(QueuePair& qp);
  /// Takes `qp` out of turn: it forgets its state.
  void unschedule(QueuePair& qp) { scheduler_.remove(qp); }
  /// The end of a queue pair: what it has completed and the program did not fetch is forgotten. It stays in
  /// TIME-WAIT if it was ever connected.
  void enter_time_wait(QueuePair& qp, transport::Time now);
  Gsi& gsi() { return gsi_; }
  const Gsi& gsi() const { return gsi_; }

  /// The end of a completion queue.
  void forget_queue(CompletionQueue& queue);

  // --- What has happened ---

  /// Whether no queue pair has anything to send, and the port has sent what it was given.
  bool is_drained() const {
    const bool has_sent_all = scheduler_.is_idle() && scheduler_.count_full_ways() == 0;
    return has_sent_all && !gsi_.has_outgoing() && port_->is_drained();
  }
  /// When the last frame was handed to the port; the clock's epoch when none was.
  transport::Time last_sent() const { return std::max(transmitter_.last_sent(), gsi_.last_sent()); }
  /// Whether any queue pair, destroyed ones included, found that frames get lost on the way.
  bool has_seen_loss() const { return events_.has_seen_loss() || time_wait_.has_acknowledged(); }

 private:
  static constexpr std::size_t kReceiveBurst = 64;
  /// In so many rounds a port gives all that it can hold: 64 links of up to 512 frames.
  static constexpr std::size_t kMostBursts = 1024;

  std::size_t receive(transport::Time& now);
  void note_heard(transport::Time started, transport::Time now, std::size_t received);
  bool expire_timers(transport::Time now);
  bool is_awaiting_turn_of_peer(QueuePair& qp);
  bool send_and_complete(transport::Time now);
  void fail_users_of_overrun();

  const Clock& clock_;
  Tables& tables_;
  EventDispatcher& events_;
  std::unique_ptr<PacketPort> port_;
  LinkGate* gate_ = nullptr;  // around the port, since its link was first taken down
  Scheduler scheduler_;
  TimeWait time_wait_;
  NotificationPoint notification_point_;
  Transmitter transmitter_;
  Gsi gsi_;
  Receiver receiver_;
  CompletionPublisher publisher_;
  Recorder* recorder_ = nullptr;  // null unless the port takes notes
  /// Of one burst. Most rounds find no frame, and clearing an array of their own would be a large part of
  /// them.
  std::array<ReceivedFrame, kReceiveBurst> frames_;
  std::vector<CompletionQueue*> overrun_;
  /// What came before was received.
  transport::Time heard_until_{};
  /// Where the port always has more: what had come by then will have been received after kMostBursts rounds.
  transport::Time mark_{};
  std::size_t bursts_since_mark_ = 0;
};

}  // namespace urnic::nic
