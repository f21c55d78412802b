// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The rules that captures are checked against, and what else is worth saying about one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tools/conformance/check/findings/makers.h"

namespace urnic::check {

/// How much a finding weighs.
enum class Severity : std::uint8_t {
  kViolation,  ///< one side broke a rule
  kHabit,      ///< a known deviation of some NIC; a violation where the policy does not allow it
  kUnknown,    ///< might be a violation, but this capture cannot tell
  kEvent,      ///< nothing wrong: loss, repetition, refusal, explained
};
inline constexpr std::size_t kSeverities = 4;

enum class Rule : std::uint8_t {
  // Frames.
  kIcrc,
  kIpChecksum,
  kIpLength,
  kIpFragment,
  kUdpLength,
  kUdpChecksum,
  kUdpPort,
  // Single packets.
  kOpcodeUnknown,
  kOpcodeLength,
  kLengthAlignment,
  kPadCount,
  kPadNotZero,
  kTransportVersion,
  kPkeyInvalid,
  kSolicitedEvent,
  kAckReqOnResponse,
  kAckReqUnreliable,
  kPayloadUnexpected,
  kSyndrome,
  kQkeyQp1,
  kMadLength,
  kCnpBecn,
  kCnpForm,
  kMtu,
  kRethLimit,
  // Messages of the connection manager, one by one.
  kCmHeader,
  kCmAttribute,
  kCmReserved,
  kCmSourceQp,
  kCmPkey,
  kCmPathMtu,
  kCmTransport,
  kCmPrivateHeader,
  kCmAddresses,
  kCmReason,
  // What they say to each other.
  kCmRemoteId,
  kCmTransaction,
  kCmDuplicateDiffers,
  kCmAnswersTwice,
  kCmReadyWithoutReply,
  kCmDisconnectReply,
  kCmDisconnectQp,
  kCmRepeatEarly,
  kCmRepeatOften,
  kCmDataEarly,
  kCmDataAfterEnd,
  // Connections.
  kOpcodeService,
  kPkeyChanged,
  kMigrationChanged,
  // Requesters.
  kOpcodeSequence,
  kSegmentLength,
  kRethLength,
  kPsnSkipped,
  kFirstPsn,
  kPsnFar,
  kPsnRepeated,
  kDuplicateDiffers,
  kReadResume,
  kRnrEarly,
  kRequestAfterNak,
  kAckReqMissing,
  kReadsInFlight,
  kRetryCount,
  // Responders.
  kAckUnsent,
  kAckRegress,
  kAckOverGap,
  kAckAfterNak,
  kMsn,
  kNakRepeated,
  kNakWithoutGap,
  kNakPsn,
  kAnswerOpcode,
  kReadResponseOpcode,
  kReadResponseLength,
  kReadResponseExtra,
  kReadResponseMissing,
  kAtomicUnanswered,
  kAtomicReplay,
  kAtomicAlignment,
  // Congestion, where the user says what holds.
  kCnpSpacing,
  kPauseIgnored,
  // Habits.
  kMigrationZero,
  kUdpChecksumZeroIpv6,
  kAckReqOnMad,
  kAckPerDuplicate,
  kOperationalNakOnSend,
  kEthernetPadding,
  kReadResumeMiddle,
  kAckBehindResponse,
  kAnswerSkipped,
  kReservedBits,
  kFecn,
  kMsnWithoutWrites,
  kCnpWithNak,
  kCnpUnmarked,
  kCmRejectId,
  // What a capture cannot decide.
  kAnswerWithoutRequest,
  kAnswerOfSeveral,
  kRequestUnseen,
  kJoinedMidway,
  kCutFrame,
  kUntracked,
  kNoAnswer,
  kCmUnseen,
  kCmNoAnswer,
  kMarksUnanswered,
  kCnpMarksUnseen,
  kPauseUnclear,
  // Events.
  kRequestGap,
  kRepetition,
  kNetworkCopy,
  kOvertaken,
  kSequenceNak,
  kSelectiveNak,
  kRnrNak,
  kFatalNak,
  kImpliedNak,
  kRestart,
  kUnreliableLoss,
  kQkeyChanged,
  kGaveUp,
  kCmRepetition,
  kMarksWithoutCnp,
  kCount,
};

inline constexpr std::size_t kRules = static_cast<std::size_t>(Rule::kCount);

struct RuleInfo {
  Rule rule;
  const char* name;
  Severity severity;
  const char* meaning;            ///< one sentence without a full stop
  Makers makers = Makers::kNone;  ///< of a habit: whose it is
};

const RuleInfo& info_of(Rule rule);
/// All of them, in the order of the enumeration.
std::span<const RuleInfo> all_rules();
const char* to_string(Severity severity);

}  // namespace urnic::check
