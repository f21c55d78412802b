// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Behavior: one thing that a legal adversary does, and why it may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace urnic::nic {

enum class Behavior : std::uint8_t {
  kLatePayload,
  kSlowQueuePair,
  kSlowRead,
  kLatePlacement,
  kLastBytesFirst,
  kLateCompletion,
  kCompletionsInParts,
  kQueuesOutOfOrder,
  kGarbageInUndefinedFields,
  kCompletionAfterDestroy,
  kLateCompletionEvent,
  kSpuriousCompletionEvent,
  kNoEventForWaiting,
  kLateFlush,
  kExactRoom,
  kDifferentKeys,
  kGarbageInQuery,
  kSlowControlVerbs,
  kUnexpectedEvents,
  kLostPackets,
  kDuplicatedPackets,
  kReorderedPackets,
  kLostDatagrams,
};
inline constexpr std::size_t kBehaviorCount = static_cast<std::size_t>(Behavior::kLostDatagrams) + 1;

/// Sentences for people, with a full stop at the end.
struct BehaviorRow {
  Behavior behavior;
  std::string_view name;     ///< e.g. "late-payload"
  std::string_view what;     ///< the adversary does
  std::string_view rule;     ///< that permits it, and who says so
  std::string_view exposes;  ///< which mistake of programs fails
  bool is_usual = true;      ///< false: only where the user names it
};

/// In the order of the enum.
std::span<const BehaviorRow> all_behaviors();
const BehaviorRow& row_of(Behavior behavior);
std::optional<Behavior> behavior_named(std::string_view name);

}  // namespace urnic::nic
