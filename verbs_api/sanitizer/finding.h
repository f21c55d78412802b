// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Finding: a mistake of a program that the sanitizer knows. The table of all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace urnic::verbs_api {

/// In the order of the table in finding.cc. verbs_api/sanitizer/SANITIZER.md says what each means.
enum class Finding : std::uint8_t {
  // Room that hardware does not have:
  kSendQueueNeverDrained,
  kReceiveQueueNeverDrained,
  kRoomNotRequested,
  kGrantedRoomUsed,
  kCompletionQueueTooSmall,
  kCompletionQueueOverrun,
  // What work requests name:
  kReadWithoutFence,
  kFenceOnTheWrongRequest,
  kElementOutsideItsRegion,
  kUnknownLocalKey,
  kRemoteKeyAsLocalKey,
  kOtherProtectionDomain,
  kLocalRightMissing,
  kMisalignedAtomic,
  kReceiveWithoutHeaderRoom,
  kOrderBetweenQueuePairs,
  // When things are done:
  kBufferChangedBeforeCompletion,
  kPostInWrongState,
  kRegionDeregisteredInUse,
  kAddressHandleDestroyedInUse,
  kDestroyedWithWorkOutstanding,
  kDestroyedBeforeLastWqe,
  kWaitsForDestroyed,
  kEventsNotAcknowledged,
  // Attributes:
  kNoAckTimeout,
  // When completions and events are taken:
  kSleepWithCompletionsWaiting,
  kUndefinedFieldRead,
  kVendorErrorRead,
  kImmediateInHostOrder,
  kFatalEventUnread,
  kEventUnread,
  kCompletionEventUnread,
  // How verbs are called:
  kUsedAfterDestroy,
  kTwoThreadsAtOnce,
  kAcceptedRequestsPostedAgain,
  kRefusedRequestWaitedFor,
  kOverlappingTargets,
  kWorkRequestIdReused,
  // What the peer reaches for here:
  kResponderResourcesExceeded,
  kRegionDeregisteredUnderPeer,
  kStaleRemoteKey,
  kRemoteRightMissing,
  kByteSwappedAddress,
  kMemoryGone,
  kFailedQueuePairUnnoticed,
  kReceivePostedLate,
  kDatagramDropped,
  kLocalKeyAsRemoteKey,
  kSrqLimitNotArmed,
  kAtomicChanged,
  // Values that verbs are given:
  kUnknownSendFlags,
  kAttributeNotSet,
  kAddressWithoutGrh,
  kGidOfOtherKind,
  kPathMtuAboveActive,
  kRetryCountOutOfRange,
  kShortAckTimeout,
  kNoRetries,
  kMessageTooLongElsewhere,
  kMoreThanSomeNicsHave,
  kMissingOnSomeNics,
  // How memory is registered:
  kMoreThanMemlock,
  kMemoryUnmapped,
  kFileBackedMemory,
  kForkWithRegisteredMemory,
  kRegistrationPerMessage,
};

inline constexpr std::size_t kFindingCount = static_cast<std::size_t>(Finding::kRegistrationPerMessage) + 1;

/// How sure it is that the program is wrong.
enum class FindingLevel : std::uint8_t {
  kHint,     ///< it may be intended; off unless the user wants it
  kWarning,  ///< it works on some NICs, or until something goes wrong
  kError,    ///< the program is wrong, or cannot run on common hardware
};

std::string_view name_of(FindingLevel level);

struct FindingRow {
  Finding finding;
  FindingLevel level;
  std::string_view name;      ///< as messages, suppressions and `urnic explain` have it
  std::string_view rule;      ///< why it is wrong, one sentence without a full stop
  std::string_view shows_on;  ///< on which NICs a user would notice, and how sure that is known
  std::string_view advice;    ///< what to do
};

const FindingRow& row_of(Finding finding);
std::span<const FindingRow> all_findings();
std::optional<Finding> finding_named(std::string_view name);

}  // namespace urnic::verbs_api
