// What is inside the datagrams of the connection manager (CM).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/check/packet.h"
#include "tools/check/psn.h"

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

/// Fields that a kind does not have are zero.
struct CmMessage {
  CmKind kind{};
  std::uint32_t local_id = 0;   ///< communication ID of the sender; of SIDR its request ID
  std::uint32_t remote_id = 0;  ///< of the receiver
  std::uint64_t service_id = 0;
  CmTransport transport = CmTransport::kRc;  ///< of REQ
  std::uint32_t qp = 0;                      ///< the sender's; of DREQ the receiver's
  Psn first_psn{};  ///< of the requests that the sender will receive (captures/rxe/rping: frames 1, 2, 4, 6)
  std::uint32_t path_mtu = 0;  ///< of REQ, in bytes; 0: a code that means none
  std::uint16_t reason = 0;    ///< of REJ; the status of SIDR_REP
};

/// Nothing for another datagram, for an attribute that is not CM's, and where too little was captured.
std::optional<CmMessage> parse_cm(const Packet& packet);

/// "CM REQ port 7174 qp 0x1a psn f12ffa" and so on, at most 50 characters.
std::string describe(const CmMessage& message);

}  // namespace urnic::check
