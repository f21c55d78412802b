// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/worker.h"

#include "tests/stress/actions.h"
#include "tests/stress/chance.h"

namespace urnic::stress {

Worker::Worker(Objects& objects, std::uint64_t seed)
    : counts_(all_actions().size()), thread_([this, &objects, seed] { run(objects, seed); }) {}

Worker::~Worker() {
  stop();
  thread_.join();
}

void Worker::run(Objects& objects, std::uint64_t seed) {
  Chance chance(seed);
  std::vector<std::size_t> drawn_from;  // each action as often as it weighs
  for (std::size_t i = 0; i < all_actions().size(); ++i) {
    drawn_from.insert(drawn_from.end(), all_actions()[i].weight, i);
  }
  while (!is_stopping_.load(std::memory_order_relaxed)) {
    const std::size_t action = drawn_from[chance.below(drawn_from.size())];
    at_.store(all_actions()[action].name, std::memory_order_relaxed);
    all_actions()[action].run(objects, chance);
    counts_[action].fetch_add(1, std::memory_order_relaxed);
    done_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace urnic::stress
