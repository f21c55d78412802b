// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CompletionPlay: when completions of one queue are seen, in which order, and when an event tells of them.
#pragma once

#include <cstdint>
#include <utility>

#include "nic/adversary/adversary.h"
#include "transport/completion.h"
#include "transport/time.h"

namespace urnic::nic {

/// All calls under the engine lock. A position is a completion's number in its queue, modulo 2^32.
class CompletionPlay {
 public:
  explicit CompletionPlay(Adversary& adversary)
      : adversary_(adversary), queue_(adversary.next_completion_queue()) {}

  /// How many of the `hidden` completions from `from` on are seen now, in a queue with room for `capacity`.
  /// If not all are, due() says when to ask again.
  std::uint32_t count_shown(std::uint32_t from, std::uint32_t hidden, std::uint32_t capacity,
                            transport::Time now);
  transport::Time due() const { return due_; }

  /// Lets completions of different queues change places; `at(n)` is the n-th of `count`. Each is looked at
  /// once.
  template <typename At>
  void rearrange(std::uint32_t from, std::uint32_t count, At at) {
    if (!adversary_.does(Behavior::kQueuesOutOfOrder)) return;
    for (std::uint32_t i = 1; i < count; ++i) {
      if (static_cast<std::int32_t>(from + i - arranged_) < 0) continue;
      transport::Completion& left = at(i - 1);
      transport::Completion& right = at(i);
      if (are_of_one_queue(left, right) || !swaps(from + i)) continue;
      std::swap(left, right);
      note_swap(from + i);
    }
    arranged_ = from + count;
  }

  /// How much later an event comes that tells of the completion at `position`.
  transport::Duration event_delay(std::uint32_t position);
  /// Whether the queue, which the program arms now, tells nothing of what waits in it.
  bool is_silent() { return strikes_arming(Behavior::kNoEventForWaiting, kOneSilentArmingIn); }
  /// Whether an event comes now, for nothing.
  bool has_spurious_event() { return strikes_arming(Behavior::kSpuriousCompletionEvent, kOneSpuriousIn); }
  void note_arming() { ++armings_; }
  /// Whether the completions of a queue pair that ends now stay.
  bool keeps(transport::QpNumber qp);

 private:
  static constexpr std::uint32_t kOneSilentArmingIn = 2;
  static constexpr std::uint32_t kOneSpuriousIn = 8;

  static bool are_of_one_queue(const transport::Completion& left, const transport::Completion& right) {
    return left.qp_number == right.qp_number &&
           transport::is_receive(left.opcode) == transport::is_receive(right.opcode);
  }
  bool swaps(std::uint32_t position) const {
    return adversary_.strikes(Behavior::kQueuesOutOfOrder, queue_, position, 2);
  }
  void note_swap(std::uint32_t position);
  bool strikes_arming(Behavior behavior, std::uint32_t one_in);

  Adversary& adversary_;
  std::uint32_t queue_;
  std::uint32_t arranged_ = 0;  // the first position that rearrange() has not seen
  std::uint64_t armings_ = 0;
  std::uint64_t ends_ = 0;
  transport::Time due_ = transport::kNever;
};

}  // namespace urnic::nic
