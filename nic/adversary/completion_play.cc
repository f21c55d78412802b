// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/adversary/completion_play.h"

#include <chrono>

namespace urnic::nic {

using transport::Duration;
using transport::kNever;
using transport::Time;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kOneLateCompletionIn = 8;
constexpr Duration kLongestWait = 1ms;
// A program that waits for ENOMEM goes on posting for as long as it sees no completion, and on an ERR queue
// pair each request has one. What is held back must not make its completion queue overrun.
constexpr std::uint32_t kShareHeldBack = 4;
constexpr std::uint32_t kOnePartIn = 2;
constexpr Duration kLongestBreak = 100us;
constexpr std::uint32_t kOneLateEventIn = 4;
constexpr Duration kLongestEventDelay = 5ms;

constexpr const char* kQueueName = "completion queue";

}  // namespace

std::uint32_t CompletionPlay::count_shown(std::uint32_t from, std::uint32_t hidden, std::uint32_t capacity,
                                          Time now) {
  const bool may_hold = hidden <= capacity / kShareHeldBack;
  if (may_hold && due_ != kNever && now < due_) return 0;
  const bool was_held = due_ != kNever;
  due_ = kNever;
  if (!may_hold) return hidden;
  if (hidden == 0) return 0;
  if (!was_held && adversary_.strikes(Behavior::kLateCompletion, queue_, from, kOneLateCompletionIn)) {
    const auto pause = adversary_.pause(Behavior::kLateCompletion, queue_, from, kLongestWait);
    adversary_.note(Behavior::kLateCompletion, kQueueName, queue_, "completion", from, pause);
    due_ = now + pause;
    return 0;
  }
  if (hidden == 1 || !adversary_.strikes(Behavior::kCompletionsInParts, queue_, from, kOnePartIn)) {
    return hidden;
  }
  const auto pause = adversary_.pause(Behavior::kCompletionsInParts, queue_, from, kLongestBreak);
  const std::uint64_t drawn = spread(adversary_.number(Behavior::kCompletionsInParts, queue_, from) + 1);
  adversary_.note(Behavior::kCompletionsInParts, kQueueName, queue_, "completion", from, pause);
  due_ = now + pause;
  return 1 + static_cast<std::uint32_t>(drawn % (hidden - 1));
}

void CompletionPlay::note_swap(std::uint32_t position) {
  adversary_.note(Behavior::kQueuesOutOfOrder, kQueueName, queue_, "completion", position);
}

Duration CompletionPlay::event_delay(std::uint32_t position) {
  if (!adversary_.strikes(Behavior::kLateCompletionEvent, queue_, position, kOneLateEventIn)) return {};
  const auto pause = adversary_.pause(Behavior::kLateCompletionEvent, queue_, position, kLongestEventDelay);
  adversary_.note(Behavior::kLateCompletionEvent, kQueueName, queue_, "completion", position, pause);
  return pause;
}

bool CompletionPlay::strikes_arming(Behavior behavior, std::uint32_t one_in) {
  if (!adversary_.strikes(behavior, queue_, armings_, one_in)) return false;
  adversary_.note(behavior, kQueueName, queue_, "request for an event", armings_);
  return true;
}

bool CompletionPlay::keeps(transport::QpNumber qp) {
  ++ends_;
  if (!adversary_.strikes(Behavior::kCompletionAfterDestroy, queue_, ends_, 2)) return false;
  adversary_.note(Behavior::kCompletionAfterDestroy, kQueueName, queue_, "queue pair", to_integer(qp));
  return true;
}

}  // namespace urnic::nic
