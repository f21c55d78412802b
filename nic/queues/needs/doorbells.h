// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Doorbells: how the program's threads tell the engine that there is work, or that they wait for some.
#pragma once

namespace urnic::nic {

class QueuePair;

/// Any thread; the caller does not hold the engine's lock.
class Doorbells {
 public:
  /// The program polls, and finds nothing or has_rung().
  virtual void on_poll() = 0;
  /// The program has posted work on `qp`, or changed its state.
  virtual void ring(QueuePair& qp) = 0;
  /// The program has posted work on `qp`, which the engine may send together with what the program posts
  /// next, or when it polls. False: this program does not poll so often, and the engine did the same as
  /// ring().
  virtual bool ring_with_next(QueuePair& qp) = 0;
  /// Whether the program posted work at which no round has looked yet.
  virtual bool has_rung() const = 0;
  /// The program wants a completion to wake it, or does not want that any more.
  virtual void on_queue_armed() = 0;
  virtual void on_queue_disarmed() = 0;
  /// After on_queue_armed(): the program may go to sleep now.
  virtual void on_notification_requested() = 0;
  /// Before `qp` forgets its pending acknowledgements and responses: sends them, and before them what the
  /// program posted with ring_with_next(), unless the port stays full for long. Takes the engine's lock.
  virtual void flush_responses(QueuePair& qp) = 0;
  /// Before the program takes a queue pair to ERR: handles the frames that have come. A card takes each as it
  /// comes, so that what a peer acknowledged before it said anything by other means, by TCP for instance, has
  /// completed. For some milliseconds at most. Takes the engine's lock.
  virtual void receive_what_has_come() = 0;

 protected:
  ~Doorbells() = default;
};

}  // namespace urnic::nic
