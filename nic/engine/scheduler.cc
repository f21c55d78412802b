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
  const Place wanted = qp.endpoint().has_pending_response() ? Place::kResponding : Place::kSending;
  if (place == wanted || place == Place::kResponding) return;
  append(qp, wanted);
}

bool Scheduler::has_send_to(transport::AddressHandleId address) const {
  const auto sends_there = [address](const QpSchedule& schedule) { return schedule.qp.has_send_to(address); };
  return std::ranges::any_of(sending_, sends_there) || std::ranges::any_of(responding_, sends_there);
}

QueuePair* Scheduler::pop_expired(transport::Time now) {
  Timer* const timer = timers_.pop_expired(now);
  return timer == nullptr ? nullptr : &timer->owner();
}

void Scheduler::put_back_first(QueuePair& qp) {
  const Place place = qp.endpoint().has_pending_response() ? Place::kResponding : Place::kSending;
  prepend(qp, place);
}

void Scheduler::put_back(QueuePair& qp) {
  is_only_flushed(qp) ? prepend(qp, Place::kResponding) : append(qp, Place::kSending);
}

bool Scheduler::is_only_flushed(const QueuePair& qp) {
  return qp.endpoint().state() == transport::QpState::kError;
}

void Scheduler::unpark() {
  for (QpSchedule& schedule : parked_) schedule.place = Place::kSending;
  sending_.splice(sending_.end(), parked_);
}

void Scheduler::remove(QueuePair& qp) {
  unlink(qp.schedule());
  timers_.cancel(qp.schedule().timer);
}

QueuePair* Scheduler::pop(List& list) {
  if (list.empty()) return nullptr;
  QpSchedule& schedule = list.front();
  list.pop_front();
  schedule.place = Place::kNowhere;
  return &schedule.qp;
}

Scheduler::List& Scheduler::list_of(Place place) {
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
  if (schedule.place == Place::kNowhere) return;
  List& list = list_of(schedule.place);
  list.erase(list.iterator_to(schedule));
  schedule.place = Place::kNowhere;
}

}  // namespace urnic::nic
