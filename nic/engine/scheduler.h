// Scheduler: which queue pairs want to send, in which order, and whose timer runs out when.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/options.hpp>

#include "nic/queues/doorbell.h"
#include "nic/queues/queue_pair.h"
#include "nic/queues/timer_queue.h"
#include "transport/time.h"

namespace urnic::nic {

/// Queue pairs with a pending response come before those that only have requests of their own; among each
/// kind they take turns. One that only has work to be flushed comes before all, so that it waits for none that waits for the
/// port. Queue pairs whose peer's MAC is being asked for are parked. A queue pair that has
/// nothing to do costs nothing. All calls under the engine lock, except ring().
class Scheduler {
 public:
  /// Posted work waits on `qp`. Any thread.
  void ring(QueuePair& qp) { doorbells_.ring(qp.schedule().doorbell); }
  /// Whether a doorbell rang since the last take_doorbells(). Any thread.
  bool has_rung() const { return !doorbells_.is_empty(); }
  /// Wakes every queue pair whose doorbell rang.
  void take_doorbells();

  /// Something happened to the endpoint of `qp` (a packet, a timeout, posted work, a new state): it gets a
  /// turn, unless it is parked, and its timer is looked at.
  void wake(QueuePair& qp);
  /// Timer only: after a turn that left nothing to do.
  void expect_timeout(QueuePair& qp) { timers_.expect(qp.schedule().timer, qp.endpoint().next_timeout()); }

  /// Takes the next queue pair that has a pending response, or that wants to send, out of its list; null when
  /// there is none.
  QueuePair* next_responding() { return pop(responding_); }
  QueuePair* next_sending() { return pop(sending_); }
  /// It goes on later, after the others, except one that is being flushed.
  void put_back(QueuePair& qp);
  /// It could not begin, as the port was full; it is the first to try again.
  void put_back_first(QueuePair& qp);
  /// In ERR: it sends nothing any more, no response that it owes either, and needs neither the port nor an address.
  static bool is_only_flushed(const QueuePair& qp);
  void park(QueuePair& qp) { append(qp, QpSchedule::Place::kParked); }
  /// All that are parked want to send again.
  void unpark();

  /// Whether a queue pair that waits for a turn has a datagram to there.
  bool has_send_to(transport::AddressHandleId address) const;
  /// Whether no queue pair waits for a turn, and no doorbell rang.
  bool is_idle() const { return responding_.empty() && sending_.empty() && !has_rung(); }

  /// The next queue pair whose timer has run out, or ran out for nothing; null when there is none.
  QueuePair* pop_expired(transport::Time now);
  transport::Time next_timeout() const { return timers_.next(); }

  /// Forgets `qp`, except a doorbell that rang: before the queue pair is destroyed, take_doorbells() has to
  /// come first.
  void remove(QueuePair& qp);

 private:
  using List = boost::intrusive::list<
      QpSchedule,
      boost::intrusive::member_hook<QpSchedule, boost::intrusive::list_member_hook<>, &QpSchedule::hook>,
      boost::intrusive::constant_time_size<false>>;

  static QueuePair* pop(List& list);
  List& list_of(QpSchedule::Place place);
  void append(QueuePair& qp, QpSchedule::Place place);
  void prepend(QueuePair& qp, QpSchedule::Place place);
  void unlink(QpSchedule& schedule);

  DoorbellStack doorbells_;
  List responding_;
  List sending_;
  List parked_;
  TimerQueue timers_;
};

}  // namespace urnic::nic
