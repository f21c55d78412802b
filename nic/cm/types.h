// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The connection manager's own numbers, codes and lengths (facts 44 to 48; the offsets are in message.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace urnic::nic::cm {

/// How each side names a connection; SIDR's request ID is one, too.
enum class CommunicationId : std::uint32_t {};
/// What a listener listens to.
enum class ServiceId : std::uint64_t {};

/// Bytes of a management datagram (MAD).
inline constexpr std::size_t kMadBytes = 256;

/// What a program's private data may be, and always are on the wire, in bytes.
inline constexpr std::size_t kReqPrivateBytes = 92;
inline constexpr std::size_t kRepPrivateBytes = 196;
inline constexpr std::size_t kRtuPrivateBytes = 224;
inline constexpr std::size_t kRejPrivateBytes = 148;
inline constexpr std::size_t kMraPrivateBytes = 222;
inline constexpr std::size_t kDreqPrivateBytes = 220;
inline constexpr std::size_t kDrepPrivateBytes = 224;
inline constexpr std::size_t kSidrReqPrivateBytes = 216;
inline constexpr std::size_t kSidrRepPrivateBytes = 136;
/// Additional information of REJ and SIDR_REP.
inline constexpr std::size_t kInformationBytes = 72;

/// Of REJ. The names are from the kernel's enum ib_cm_rej_reason.
enum class RejectReason : std::uint16_t {
  kNoQp = 1,
  kNoEec = 2,
  kNoResources = 3,
  kTimeout = 4,
  kUnsupported = 5,
  kInvalidCommunicationId = 6,
  kInvalidCommunicationInstance = 7,
  kInvalidServiceId = 8,
  kInvalidTransportType = 9,
  kStaleConnection = 10,
  kRdcNotExist = 11,
  kInvalidGid = 12,
  kInvalidLid = 13,
  kInvalidSl = 14,
  kInvalidTrafficClass = 15,
  kInvalidHopLimit = 16,
  kInvalidPacketRate = 17,
  kInvalidAlternateGid = 18,
  kInvalidAlternateLid = 19,
  kInvalidAlternateSl = 20,
  kInvalidAlternateTrafficClass = 21,
  kInvalidAlternateHopLimit = 22,
  kInvalidAlternatePacketRate = 23,
  kPortAndCmRedirect = 24,
  kPortRedirect = 25,
  kInvalidMtu = 26,
  kInsufficientResponderResources = 27,
  kConsumerDefined = 28,
  kInvalidRnrRetry = 29,
  kDuplicateLocalCommunicationId = 30,
  kInvalidClassVersion = 31,
  kInvalidFlowLabel = 32,
  kInvalidAlternateFlowLabel = 33,
};

/// Which message of the peer a REJ or an MRA is about.
enum class Answered : std::uint8_t { kReq = 0, kRep = 1, kOther = 2 };

/// Of SIDR_REP.
enum class SidrStatus : std::uint8_t {
  kSuccess = 0,
  kUnsupported = 1,
  kReject = 2,
  kNoQp = 3,
  kRedirect = 4,
  kUnsupportedVersion = 5,
};

/// What a side of a connection offers beyond the standard, or has agreed to: ECE (enhanced connection
/// establishment). Options mean what the vendor says.
struct Ece {
  std::uint32_t vendor_id = 0;  ///< 24 bits; 0: nothing is offered
  std::uint32_t options = 0;

  friend bool operator==(const Ece&, const Ece&) = default;
};

/// Of REQ: the service that the queue pairs are to give.
enum class TransportType : std::uint8_t { kRc, kUc, kXrc };

}  // namespace urnic::nic::cm
