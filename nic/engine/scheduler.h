// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Scheduler: which queue pairs want to send, in which order, and whose timer runs out when.
#pragma once

#include <cstddef>

#include "nic/engine/full_ways.h"
#include "nic/queues/doorbell.h"
#include "nic/queues/queue_pair.h"
#include "nic/queues/timer_queue.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// Queue pairs with a pending response come before queue pairs that only have requests of their own; among
/// each kind they take turns. One that only has work to be flushed comes before all, so that it waits for
/// none that waits for the port. A queue pair is parked while the NIC asks for its peer's MAC; one whose way
/// out of the port is full waits for that way alone. A queue pair that has nothing to do costs nothing. All
/// calls under the engine lock, except ring().
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
  /// It goes on later: after the others, except one that is being flushed.
  void put_back(QueuePair& qp);
  /// The round was over before its turn of requests was: it goes on with that.
  void put_back_in_turn(QueuePair& qp);
  /// It could not begin, as the port was full; it is the first to try again.
  void put_back_first(QueuePair& qp);
  /// In ERR: it sends nothing any more, no response that it owes either, and needs neither the port nor an
  /// address.
  static bool is_only_flushed(const QueuePair& qp);
  void park(QueuePair& qp) { append(qp, QpSchedule::Place::kParked); }
  /// All that are parked want to send again.
  void unpark();

  // --- Full ways. Until a way is looked at, all of its queue pairs wait ---

  /// There will be no more than `count` queue pairs.
  void expect(std::size_t count) { full_ways_.expect(count); }
  std::size_t count_full_ways() const { return full_ways_.count(); }
  FullWays::Way& first_full_way() { return full_ways_.first(); }
  /// Takes out the queue pair of that way whose turn it is; null when there is none.
  QueuePair* next_on(FullWays::Way& way);
  /// It found its way full.
  void wait_for(const transport::wire::Mac& way, QueuePair& qp);
  /// It was the first of `way` and found it still full: it stays the first.
  void wait_first_for(FullWays::Way& way, QueuePair& qp);
  /// The first way was looked at, and is still full: the others come before it.
  void keep_first_way() { full_ways_.keep_first(); }
  /// It is not: all that wait for it want to send again.
  void reopen_first_way();

  /// Whether a queue pair that waits for a turn, or for its way, has a datagram to there.
  bool has_send_to(transport::AddressHandleId address) const;
  /// Whether no queue pair waits for a turn, and no doorbell rang.
  bool is_idle() const { return responding_.empty() && sending_.empty() && !has_rung(); }

  /// Its timer has run out, but is to be looked at again later.
  void put_off_timeout(QueuePair& qp, transport::Time until) { timers_.expect(qp.schedule().timer, until); }

  /// The next queue pair whose timer has run out, or ran out for nothing; null when there is none.
  QueuePair* pop_expired(transport::Time now);
  transport::Time next_timeout() const { return timers_.next(); }

  /// Forgets `qp`, except a doorbell that rang: before the queue pair is destroyed, take_doorbells() has to
  /// come first.
  void remove(QueuePair& qp);

 private:
  static QueuePair* pop(QpList& list);
  QpList& list_of(QpSchedule::Place place);
  void append(QueuePair& qp, QpSchedule::Place place);
  void prepend(QueuePair& qp, QpSchedule::Place place);
  static void unlink(QpSchedule& schedule);
  static QpSchedule::Place wanted_place(const QueuePair& qp);

  DoorbellStack doorbells_;
  QpList responding_;
  QpList sending_;
  QpList parked_;
  FullWays full_ways_;
  TimerQueue timers_;
};

}  // namespace urnic::nic
