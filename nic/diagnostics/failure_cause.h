// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Why things fail: the table of causes.
#pragma once

#include <cstdint>
#include <string_view>

#include "nic/diagnostics/failure_report.h"

namespace urnic::nic {

/// In the order of the table in failure_cause.cc. nic/diagnostics/EXPLAIN.md says what each means.
enum class FailureCause : std::uint8_t {
  // A requester gets no answer:
  kNobodyHasAddress,
  kOtherSegment,
  kNoRocePeer,
  kNothingComesOverIp,
  kPeerFellSilent,
  kPacketsLost,
  kPsnsDiffer,
  // The peer refuses:
  kNoReceivePosted,
  kPeerRefusedAccess,
  kPeerRefusedRequest,
  kPeerFailed,
  // We refuse, or cannot go on:
  kMtuDiffers,
  kBadLength,
  kMessageTooLong,
  kNotInsideMessage,
  kNoXrcReceiver,
  kOperationNotAllowed,
  kTooManyReads,
  kUnknownKey,
  kStaleKey,
  kOtherDomain,
  kOutOfBounds,
  kRightMissing,
  kMemoryGone,
  kMisaligned,
  kBadAnswer,
  kBadLocalLength,
  kWindowNotBound,
  kStrayRequest,
  kTranslatedAddress,
  kEncapsulationDiffers,
  kNoReadDepth,
  // A connection is not made:
  kNoListener,
  kStaleConnection,
  kForeignAddress,
  kPathMtuTooLarge,
  kRejectedByProgram,
  kPeerGaveUp,
  kOtherReject,
  kNoAnswer,
  kNoAddressOfFamily,
  kNoRoute,
  kHostUnreachable,
  kNoRoceAtHost,
  kUnresolvedAddress,
  kResolutionTimeout,
  kNoListenerHere,
  kBacklogFull,
  kOther,
};

/// What is always true of a cause.
struct CauseWords {
  FailureCause cause;
  std::string_view
      rule;  ///< that was broken, with the number of the fact in transport/FACTS.md, if there is one
  std::string_view advice;  ///< what to look at, or to do
};

/// The likeliest cause.
FailureCause cause_of(const FailureReport& report);
const CauseWords& words_for(FailureCause cause);

}  // namespace urnic::nic
