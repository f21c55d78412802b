// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/scheduler.h"

#include <algorithm>
#include <cassert>

namespace urnic::nic {

using Place = QpSchedule::Place;

void Scheduler::take_doorbells() {
  doorbells_.take([this](QueuePair& qp) { wake(qp); });
}

void Scheduler::wake(QueuePair& qp) {
  qp.note_state();
  expect_timeout(qp);
  if (is_only_flushed(qp)) return prepend(qp, Place::kResponding);
  const Place place = qp.schedule().place;
  if (place == Place::kParked) return;
  const Place wanted = wanted_place(qp);
  if (place == wanted || place == Place::kResponding) return;
  append(qp, wanted);
}

QpSchedule::Place Scheduler::wanted_place(const QueuePair& qp) {
  return qp.endpoint().has_pending_response() ? Place::kResponding : Place::kSending;
}

bool Scheduler::has_send_to(transport::AddressHandleId address) const {
  const auto sends_there = [address](const QpSchedule& schedule) { return schedule.qp.has_send_to(address); };
  return std::ranges::any_of(sending_, sends_there) || std::ranges::any_of(responding_, sends_there) ||
         full_ways_.any_of(sends_there);
}

QueuePair* Scheduler::pop_expired(transport::Time now) {
  Timer* const timer = timers_.pop_expired(now);
  return timer == nullptr ? nullptr : &timer->owner();
}

void Scheduler::put_back_first(QueuePair& qp) {
  prepend(qp, wanted_place(qp));
}

void Scheduler::put_back(QueuePair& qp) {
  is_only_flushed(qp) ? prepend(qp, Place::kResponding) : append(qp, Place::kSending);
}

void Scheduler::put_back_in_turn(QueuePair& qp) {
  prepend(qp, is_only_flushed(qp) ? Place::kResponding : Place::kSending);
}

bool Scheduler::is_only_flushed(const QueuePair& qp) {
  return qp.endpoint().state() == transport::QpState::kError;
}

void Scheduler::unpark() {
  for (QpSchedule& schedule : parked_) schedule.place = Place::kSending;
  sending_.splice(sending_.end(), parked_);
}

// --- Full ways ---

QueuePair* Scheduler::next_on(FullWays::Way& way) {
  QueuePair* const responding = pop(way.responding);
  return responding != nullptr ? responding : pop(way.sending);
}

void Scheduler::wait_for(const transport::wire::Mac& name, QueuePair& qp) {
  unlink(qp.schedule());
  FullWays::Way& way = full_ways_.at(name);
  qp.schedule().place = wanted_place(qp);
  (qp.schedule().place == Place::kResponding ? way.responding : way.sending).push_back(qp.schedule());
}

void Scheduler::wait_first_for(FullWays::Way& way, QueuePair& qp) {
  unlink(qp.schedule());
  qp.schedule().place = wanted_place(qp);
  (qp.schedule().place == Place::kResponding ? way.responding : way.sending).push_front(qp.schedule());
}

void Scheduler::reopen_first_way() {
  FullWays::Way& way = full_ways_.first();
  responding_.splice(responding_.end(), way.responding);
  sending_.splice(sending_.end(), way.sending);
  full_ways_.drop_first();
}

void Scheduler::remove(QueuePair& qp) {
  unlink(qp.schedule());
  timers_.cancel(qp.schedule().timer);
}

QueuePair* Scheduler::pop(QpList& list) {
  if (list.empty()) return nullptr;
  QpSchedule& schedule = list.front();
  list.pop_front();
  schedule.place = Place::kNowhere;
  return &schedule.qp;
}

QpList& Scheduler::list_of(Place place) {
  assert(place != Place::kNowhere);
  if (place == Place::kParked) return parked_;
  return place == Place::kResponding ? responding_ : sending_;
}

void Scheduler::append(QueuePair& qp, Place place) {
  unlink(qp.schedule());
  qp.schedule().place = place;
  list_of(place).push_back(qp.schedule());
}

void Scheduler::prepend(QueuePair& qp, Place place) {
  unlink(qp.schedule());
  qp.schedule().place = place;
  list_of(place).push_front(qp.schedule());
}

void Scheduler::unlink(QpSchedule& schedule) {
  if (schedule.hook.is_linked()) schedule.hook.unlink();
  schedule.place = Place::kNowhere;
}

}  // namespace urnic::nic
