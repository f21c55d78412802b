// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is inside the datagrams of the connection manager (CM).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/conformance/check/packets/byte_view.h"
#include "tools/conformance/check/packets/packet.h"
#include "tools/conformance/check/packets/psn.h"

namespace urnic::check {

/// By the attribute of the management datagram (fact 44).
enum class CmKind : std::uint16_t {
  kRequest = 0x10,
  kMessageReceipt = 0x11,
  kReject = 0x12,
  kReply = 0x13,
  kReadyToUse = 0x14,
  kDisconnectRequest = 0x15,
  kDisconnectReply = 0x16,
  kServiceRequest = 0x17,
  kServiceReply = 0x18,
  kLoadAlternatePath = 0x19,
  kAlternatePathResponse = 0x1a,
};

enum class CmTransport : std::uint8_t { kRc, kUc, kXrc, kOther };

/// Fields that a kind does not have are zero. Times are codes of five bits: 4.096 us * 2^code.
struct CmMessage {
  CmKind kind{};
  std::uint64_t transaction = 0;
  std::uint32_t digest = 0;     ///< of the whole datagram
  std::uint32_t local_id = 0;   ///< communication ID of the sender; of SIDR its request ID
  std::uint32_t remote_id = 0;  ///< of the receiver
  std::uint64_t service_id = 0;
  CmTransport transport = CmTransport::kRc;  ///< of REQ
  std::uint32_t qp = 0;                      ///< the sender's; of DREQ the receiver's
  std::uint32_t context = 0;                 ///< of REP: the sender's queue pair if the connection is XRC
  Psn first_psn{};  ///< of the requests that the sender will receive (captures/rxe/rping: frames 1, 2, 4, 6)
  std::uint32_t path_mtu = 0;            ///< of REQ, in bytes; 0: a code that means none
  std::uint16_t reason = 0;              ///< of REJ; the status of SIDR_REP
  std::uint8_t responder_resources = 0;  ///< READs and atomics that the sender answers at a time
  std::uint8_t initiator_depth = 0;      ///< those that it wants to send at a time
  std::uint8_t rnr_retry = 0;            ///< for the receiver of the message
  std::uint8_t retry_count = 0;          ///< of REQ, for both sides
  std::uint8_t ack_timeout = 0;          ///< of REQ; a code
  std::uint8_t ack_delay = 0;            ///< of REP; a code
  std::uint8_t receiver_timeout = 0;     ///< of REQ: within this the receiver's manager answers; a code
  std::uint8_t sender_timeout = 0;       ///< of REQ: within this the sender's does; a code
  std::uint8_t max_retries = 0;          ///< of REQ: how often messages of the manager are repeated
  std::uint8_t service_timeout = 0;      ///< of MRA: how long the answer will take; a code
};

inline constexpr std::size_t kMadHeaderBytes = 24;
inline constexpr std::uint8_t kCmClass = 7;

/// Whether a datagram is one of the connection manager's, by its class.
bool is_cm(const Packet& packet);
/// Whether the header of the management datagram is right: a receiver drops it otherwise. For is_cm() only.
bool has_right_header(const Packet& packet);
/// The kind that an attribute stands for.
std::optional<CmKind> cm_kind_of(std::uint16_t attribute);

/// Nothing for another datagram, for an attribute that is not CM's, and where too little was captured.
std::optional<CmMessage> parse_cm(const Packet& packet);

/// The name alone: "CM REQ".
const char* to_string(CmKind kind);

/// What a code of five bits means, in nanoseconds. As an ACK timeout, 0 means no timeout (fact 36).
std::int64_t cm_time_ns(std::uint8_t code);

/// "CM REQ port 7174 qp 0x00001a psn 15806458" and so on, at most 70 characters.
std::string describe(const CmMessage& message);

}  // namespace urnic::check
