// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/egress_queues.h"

#include "drivers/network/ticks.h"

namespace urnic::network {

EgressQueues::EgressQueues(const Profile& profile) {
  for (unsigned priority = 0; priority < kPriorities; ++priority) {
    const unsigned weight = profile.priorities[priority].weight;
    if (weight == 0) strict_ |= 1u << priority;
    quanta_[priority] = weight * kQuantumBytes;
  }
}

void EgressQueues::push(unsigned priority, const Queued& queued) {
  queues_[priority].push(queued);
  bytes_[priority] += queued.frame->size;
  waiting_ |= 1u << priority;
}

std::optional<EgressQueues::Chosen> EgressQueues::take() {
  const unsigned ready = waiting_ & ~paused_;
  if (ready == 0) return std::nullopt;
  const unsigned strict = ready & strict_;
  const unsigned priority =
      strict != 0 ? static_cast<unsigned>(std::bit_width(strict)) - 1 : choose_by_deficit(ready);
  return Chosen{.priority = priority, .queued = take_from(priority)};
}

EgressQueues::Queued EgressQueues::take_from(unsigned priority) {
  const Queued queued = queues_[priority].pop();
  bytes_[priority] -= queued.frame->size;
  if (queues_[priority].is_empty()) {
    waiting_ &= ~(1u << priority);
    deficits_[priority] = 0;
  }
  return queued;
}

/// One of `ready` has a quantum, so that its deficit suffices after some rounds.
unsigned EgressQueues::choose_by_deficit(unsigned ready) {
  for (;;) {
    if ((ready >> turn_ & 1u) != 0) {
      if (!has_its_quantum_) deficits_[turn_] += quanta_[turn_];
      has_its_quantum_ = true;
      const std::uint64_t cost = wire_bytes(queues_[turn_].front().frame->size);
      if (deficits_[turn_] >= cost) {
        deficits_[turn_] -= cost;
        return turn_;
      }
    }
    turn_ = (turn_ + 1) % kPriorities;
    has_its_quantum_ = false;
  }
}

void EgressQueues::set_paused(unsigned priority, bool is_paused) {
  paused_ = is_paused ? paused_ | 1u << priority : paused_ & ~(1u << priority);
}

}  // namespace urnic::network
