// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/cm/message.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "tools/conformance/check/packets/icrc.h"
#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {

namespace {

struct KindName {
  CmKind kind;
  const char* name;
};
constexpr std::array kKinds = {
    KindName{CmKind::kRequest, "CM REQ"},
    KindName{CmKind::kMessageReceipt, "CM MRA"},
    KindName{CmKind::kReject, "CM REJ"},
    KindName{CmKind::kReply, "CM REP"},
    KindName{CmKind::kReadyToUse, "CM RTU"},
    KindName{CmKind::kDisconnectRequest, "CM DREQ"},
    KindName{CmKind::kDisconnectReply, "CM DREP"},
    KindName{CmKind::kServiceRequest, "CM SIDR_REQ"},
    KindName{CmKind::kServiceReply, "CM SIDR_REP"},
    KindName{CmKind::kLoadAlternatePath, "CM LAP"},
    KindName{CmKind::kAlternatePathResponse, "CM APR"},
};

const KindName* find(std::uint16_t attribute) {
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(), [attribute](const KindName& row) {
    return static_cast<std::uint16_t>(row.kind) == attribute;
  });
  return found == kKinds.end() ? nullptr : found;
}

CmTransport transport_of(ByteView body) {
  const std::uint8_t type = (load_u8(body, 43) >> 1) & 3;
  const std::uint8_t extended = load_u8(body, 51) & 7;
  if (type == 0) return CmTransport::kRc;
  if (type == 1) return CmTransport::kUc;
  return type == 3 && extended == 1 ? CmTransport::kXrc : CmTransport::kOther;
}

std::uint32_t path_mtu_of(std::uint8_t code) {
  return code >= 1 && code <= 5 ? 128u << code : 0;
}

std::uint8_t high_bits(ByteView body, std::size_t at, unsigned count) {
  return static_cast<std::uint8_t>(load_u8(body, at) >> (8 - count));
}

void read_request(CmMessage& message, ByteView body) {
  message.service_id = load_u64(body, 8);
  message.transport = transport_of(body);
  message.qp = load_u24(body, 32);
  message.responder_resources = load_u8(body, 35);
  message.initiator_depth = load_u8(body, 39);
  message.receiver_timeout = high_bits(body, 43, 5);
  message.first_psn = Psn(load_u24(body, 44));
  message.sender_timeout = high_bits(body, 47, 5);
  message.retry_count = load_u8(body, 47) & 7;
  message.path_mtu = path_mtu_of(high_bits(body, 50, 4));
  message.rnr_retry = load_u8(body, 50) & 7;
  message.max_retries = high_bits(body, 51, 4);
  message.ack_timeout = high_bits(body, 95, 5);
}

void read_reply(CmMessage& message, ByteView body) {
  message.remote_id = load_u32(body, 4);
  message.qp = load_u24(body, 12);
  message.context = load_u24(body, 16);
  message.first_psn = Psn(load_u24(body, 20));
  message.responder_resources = load_u8(body, 24);
  message.initiator_depth = load_u8(body, 25);
  message.ack_delay = high_bits(body, 26, 5);
  message.rnr_retry = high_bits(body, 27, 3);
}

/// Offsets count from the end of the management datagram's header.
CmMessage read(CmKind kind, ByteView body) {
  CmMessage message{.kind = kind, .local_id = load_u32(body, 0)};
  switch (kind) {
    case CmKind::kRequest:
      read_request(message, body);
      break;
    case CmKind::kReply:
      read_reply(message, body);
      break;
    case CmKind::kMessageReceipt:
      message.remote_id = load_u32(body, 4);
      message.service_timeout = high_bits(body, 9, 5);
      break;
    case CmKind::kReject:
      message.remote_id = load_u32(body, 4);
      message.reason = load_u16(body, 10);
      break;
    case CmKind::kDisconnectRequest:
      message.remote_id = load_u32(body, 4);
      message.qp = load_u24(body, 8);
      break;
    case CmKind::kServiceRequest:
      message.service_id = load_u64(body, 8);
      break;
    case CmKind::kServiceReply:
      message.reason = load_u8(body, 4);
      message.qp = load_u24(body, 8);
      message.service_id = load_u64(body, 12);
      break;
    case CmKind::kReadyToUse:
    case CmKind::kDisconnectReply:
    case CmKind::kLoadAlternatePath:
    case CmKind::kAlternatePathResponse:
      message.remote_id = load_u32(body, 4);
  }
  return message;
}

/// How rdma_cm writes ports into service IDs (fact 45).
std::string service_text(std::uint64_t service_id) {
  const auto port = static_cast<std::uint16_t>(service_id);
  switch (service_id >> 16) {
    case 0x0106:
      return fmt::format("port {}", port);
    case 0x0111:
      return fmt::format("UDP port {}", port);
    default:
      return fmt::format("service {:#x}", service_id);
  }
}

const char* transport_text(CmTransport transport) {
  switch (transport) {
    case CmTransport::kRc:
      return "";
    case CmTransport::kUc:
      return " UC";
    case CmTransport::kXrc:
      return " XRC";
    case CmTransport::kOther:
      break;
  }
  return " unknown transport";
}

/// Those that people meet.
const char* reason_text(std::uint16_t reason) {
  switch (reason) {
    case 8:
      return ", no listener";
    case 10:
      return ", stale connection";
    case 12:
      return ", invalid GID";
    case 28:
      return ", the program's";
    default:
      return "";
  }
}

}  // namespace

bool is_cm(const Packet& packet) {
  constexpr std::size_t kClassAt = 1;
  return packet.destination_qp == kGsiQp && packet.payload.size() >= kMadBytes &&
         load_u8(packet.payload, kClassAt) == kCmClass;
}

// Fact 44; the base version is 1 in every capture.
bool has_right_header(const Packet& packet) {
  constexpr std::uint8_t kSend = 3;
  return load_u8(packet.payload, 0) == 1 && load_u8(packet.payload, 2) == 2 &&
         load_u8(packet.payload, 3) == kSend;
}

std::optional<CmKind> cm_kind_of(std::uint16_t attribute) {
  const KindName* const row = find(attribute);
  return row == nullptr ? std::nullopt : std::optional(row->kind);
}

std::optional<CmMessage> parse_cm(const Packet& packet) {
  constexpr std::size_t kTransactionAt = 8;
  constexpr std::size_t kAttributeAt = 16;
  if (!is_cm(packet)) return std::nullopt;
  const auto kind = cm_kind_of(load_u16(packet.payload, kAttributeAt));
  if (!kind) return std::nullopt;
  CmMessage message = read(*kind, packet.payload.subspan(kMadHeaderBytes));
  message.transaction = load_u64(packet.payload, kTransactionAt);
  message.digest = digest_of(packet.payload);
  return message;
}

const char* to_string(CmKind kind) {
  return find(static_cast<std::uint16_t>(kind))->name;
}

std::int64_t cm_time_ns(std::uint8_t code) {
  return std::int64_t{4096} << (code & 0x1f);
}

std::string describe(const CmMessage& message) {
  const char* const name = to_string(message.kind);
  switch (message.kind) {
    case CmKind::kRequest:
      return fmt::format("{}{} {} qp {} psn {}", name, transport_text(message.transport),
                         service_text(message.service_id), qp_text(message.qp), to_string(message.first_psn));
    case CmKind::kReply:
      return fmt::format("{} qp {} psn {}", name, qp_text(message.qp), to_string(message.first_psn));
    case CmKind::kReject:
      return fmt::format("{} {}{}", name, message.reason, reason_text(message.reason));
    case CmKind::kDisconnectRequest:
      return fmt::format("{} qp {}", name, qp_text(message.qp));
    case CmKind::kServiceRequest:
      return fmt::format("{} {}", name, service_text(message.service_id));
    case CmKind::kServiceReply:
      return message.reason == 0 ? fmt::format("{} qp {}", name, qp_text(message.qp))
                                 : fmt::format("{} status {}", name, message.reason);
    default:
      return name;
  }
}

}  // namespace urnic::check
