// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Adversary: does to a program what the rules allow and a friendly NIC does not do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nic/adversary/act_log.h"
#include "nic/adversary/draw.h"
#include "nic/adversary/settings.h"
#include "transport/time.h"

namespace urnic::nic {

class Placement;

/// Of one device; most have none. nic/adversary/CHAOS.md says what it does, and what it must never do.
class Adversary {
 public:
  /// `log`, which devices may share, outlives it.
  Adversary(const AdversarySettings& settings, ActLog& log) : settings_(settings), log_(log) {}
  Adversary(const Adversary&) = delete;
  Adversary& operator=(const Adversary&) = delete;

  const AdversarySettings& settings() const { return settings_; }
  bool does(Behavior behavior) const { return settings_.behaviors.test(static_cast<std::size_t>(behavior)); }

  std::uint64_t number(Behavior behavior, std::uint64_t object, std::uint64_t ordinal) const {
    return draw(settings_.seed, behavior, object, ordinal);
  }
  /// Whether it behaves so now, once in `one_in` times on average.
  bool strikes(Behavior behavior, std::uint64_t object, std::uint64_t ordinal, std::uint32_t one_in) const {
    return does(behavior) && number(behavior, object, ordinal) % one_in == 0;
  }
  /// Up to `longest`, scaled as the user wants it; short ones are more likely.
  transport::Duration pause(Behavior behavior, std::uint64_t object, std::uint64_t ordinal,
                            transport::Duration longest) const;

  /// Keeps the act for people: `what` happened to the `ordinal`-th thing of an object.
  void note(Behavior behavior, std::string_view object, std::uint64_t number, std::string_view thing,
            std::uint64_t ordinal, transport::Duration pause = {});

  // Objects by the order in which they are made, from 1. Any thread.
  std::uint32_t next_queue_pair() { return ++queue_pairs_; }
  std::uint32_t next_completion_queue() { return ++completion_queues_; }
  std::uint64_t next_control_verb() { return ++control_verbs_; }

  // --- Under the engine lock ---

  /// `placement` has bytes that are not in memory yet.
  void add_pending(Placement& placement) { pending_.push_back(&placement); }
  void remove_pending(Placement& placement) { std::erase(pending_, &placement); }
  /// From now on all that came is in memory.
  void settle_all();
  /// The same of what goes to these bytes, except by `writer`.
  void settle_others(const Placement& writer, std::span<const std::byte> memory);

 private:
  AdversarySettings settings_;
  ActLog& log_;
  std::atomic<std::uint32_t> queue_pairs_{0};
  std::atomic<std::uint32_t> completion_queues_{0};
  std::atomic<std::uint64_t> control_verbs_{0};
  std::vector<Placement*> pending_;
};

/// Keeps this thread busy for so long: where it holds the engine lock and must not sleep.
void spin(transport::Duration pause);

}  // namespace urnic::nic
