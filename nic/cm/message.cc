// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/cm/message.h"

#include <algorithm>
#include <cassert>

#include "transport/wire/byte_order.h"

namespace urnic::nic::cm {

using transport::PathMtu;
using transport::Psn;
using transport::QpNumber;
using transport::to_integer;
using namespace transport::wire;

namespace {

using Bytes = std::span<const std::byte>;
using Room = std::span<std::byte>;

// The header of every management datagram (fact 44).
constexpr std::size_t kHeaderBytes = 24;
constexpr std::size_t kBaseVersionAt = 0;
constexpr std::size_t kClassAt = 1;
constexpr std::size_t kClassVersionAt = 2;
constexpr std::size_t kMethodAt = 3;
constexpr std::size_t kTransactionAt = 8;
constexpr std::size_t kAttributeAt = 16;
constexpr std::size_t kAttributeModifierAt = 20;

constexpr std::uint8_t kBaseVersion = 1;
constexpr std::uint8_t kCommunicationManagement = 7;
constexpr std::uint8_t kClassVersion = 2;
constexpr std::uint8_t kMethodSend = 3;

enum class Attribute : std::uint16_t {
  kReq = 0x10,
  kMra = 0x11,
  kRej = 0x12,
  kRep = 0x13,
  kRtu = 0x14,
  kDreq = 0x15,
  kDrep = 0x16,
  kSidrReq = 0x17,
  kSidrRep = 0x18,
  kLap = 0x19,
  kApr = 0x1a,
};
static_assert(to_integer(Attribute::kApr) - to_integer(Attribute::kReq) == to_integer(MessageKind::kApr));

// What follows counts from the end of the header.

/// Bits of a byte: the `count` ones above the lowest `shift`.
std::uint8_t bits(Bytes body, std::size_t at, unsigned shift, unsigned count) {
  return static_cast<std::uint8_t>((load_u8(body, at) >> shift) & ((1u << count) - 1));
}

/// Several fields share bytes: sets these bits and leaves the others.
void set_bits(Room body, std::size_t at, unsigned shift, unsigned count, unsigned value) {
  const unsigned mask = (1u << count) - 1;
  store_u8(body, at, static_cast<std::uint8_t>(load_u8(body, at) | (value & mask) << shift));
}

CommunicationId load_id(Bytes body, std::size_t at) {
  return CommunicationId{load_u32(body, at)};
}

void store_id(Room body, std::size_t at, CommunicationId id) {
  store_u32(body, at, to_integer(id));
}

template <std::size_t kBytes>
void load_bytes(Bytes body, std::size_t at, std::array<std::byte, kBytes>& to) {
  std::copy_n(body.begin() + static_cast<std::ptrdiff_t>(at), kBytes, to.begin());
}

template <std::size_t kBytes>
void store_bytes(Room body, std::size_t at, const std::array<std::byte, kBytes>& from) {
  std::copy(from.begin(), from.end(), body.begin() + static_cast<std::ptrdiff_t>(at));
}

// ECE's options are the attribute modifier of the header. Its vendor id stands where bytes were reserved
// once: in one piece in a REQ, in three in a REP, the highest byte first (the kernel's ibta_vol1_c12.h; fact
// 48).

// --- REQ ---

constexpr std::uint8_t kFirstMtuCode = 1;
constexpr std::uint8_t kLastMtuCode = 5;

std::optional<PathMtu> mtu_of(std::uint8_t code) {
  if (code < kFirstMtuCode || code > kLastMtuCode) return std::nullopt;
  return static_cast<PathMtu>(128u << code);
}

std::uint8_t code_of(PathMtu mtu) {
  std::uint8_t code = kFirstMtuCode;
  while (128u << code < bytes(mtu)) ++code;
  return code;
}

/// Two bits for the old transports; the value for "extended" leads to three more.
constexpr std::uint8_t kRcCode = 0;
constexpr std::uint8_t kUcCode = 1;
constexpr std::uint8_t kExtendedCode = 3;
constexpr std::uint8_t kXrcExtension = 1;

std::optional<TransportType> transport_of(Bytes body) {
  const std::uint8_t code = bits(body, 43, 1, 2);
  if (code == kRcCode) return TransportType::kRc;
  if (code == kUcCode) return TransportType::kUc;
  if (code == kExtendedCode && bits(body, 51, 0, 3) == kXrcExtension) return TransportType::kXrc;
  return std::nullopt;
}

PrimaryPath read_path(Bytes body) {
  return {.local_gid = load_address<Gid>(body, 56),
          .remote_gid = load_address<Gid>(body, 72),
          .local_lid = load_u16(body, 52),
          .remote_lid = load_u16(body, 54),
          .flow_label = load_u24(body, 88) >> 4,
          .packet_rate = bits(body, 91, 0, 6),
          .traffic_class = load_u8(body, 92),
          .hop_limit = load_u8(body, 93),
          .service_level = bits(body, 94, 4, 4),
          .subnet_local = bits(body, 94, 3, 1) != 0,
          .local_ack_timeout = bits(body, 95, 3, 5)};
}

void write_path(const PrimaryPath& path, Room body) {
  store_u16(body, 52, path.local_lid);
  store_u16(body, 54, path.remote_lid);
  store_address(body, 56, path.local_gid);
  store_address(body, 72, path.remote_gid);
  store_u24(body, 88, path.flow_label << 4);
  set_bits(body, 91, 0, 6, path.packet_rate);
  store_u8(body, 92, path.traffic_class);
  store_u8(body, 93, path.hop_limit);
  set_bits(body, 94, 4, 4, path.service_level);
  set_bits(body, 94, 3, 1, path.subnet_local ? 1 : 0);
  set_bits(body, 95, 3, 5, path.local_ack_timeout);
}

constexpr std::size_t kAlternatePathAt = 96;
constexpr std::size_t kAlternatePathBytes = 44;

/// Transport type and MTU code mean something.
Req read_req(Bytes body) {
  Req req{.local_id = load_id(body, 0),
          .service_id = ServiceId{load_u64(body, 8)},
          .local_ca_guid = load_u64(body, 16),
          .local_qp = QpNumber{load_u24(body, 32)},
          .transport = *transport_of(body),
          .responder_resources = load_u8(body, 35),
          .initiator_depth = load_u8(body, 39),
          .remote_response_timeout = bits(body, 43, 3, 5),
          .local_response_timeout = bits(body, 47, 3, 5),
          .end_to_end_flow_control = bits(body, 43, 0, 1) != 0,
          .starting_psn = Psn(load_u24(body, 44)),
          .retry_count = bits(body, 47, 0, 3),
          .rnr_retry_count = bits(body, 50, 0, 3),
          .pkey = load_u16(body, 48),
          .path_mtu = *mtu_of(bits(body, 50, 4, 4)),
          .max_cm_retries = bits(body, 51, 4, 4),
          .srq = bits(body, 51, 3, 1) != 0,
          .path = read_path(body),
          .ece = {.vendor_id = load_u24(body, 5)}};
  const Bytes alternate = body.subspan(kAlternatePathAt, kAlternatePathBytes);
  req.has_alternate_path =
      std::any_of(alternate.begin(), alternate.end(), [](std::byte b) { return b != std::byte{}; });
  load_bytes(body, 140, req.private_data);
  return req;
}

void write_body(const Req& req, Room body) {
  store_id(body, 0, req.local_id);
  store_u24(body, 5, req.ece.vendor_id);
  store_u64(body, 8, to_integer(req.service_id));
  store_u64(body, 16, req.local_ca_guid);
  store_u24(body, 32, to_integer(req.local_qp));
  store_u8(body, 35, req.responder_resources);
  store_u8(body, 39, req.initiator_depth);
  set_bits(body, 43, 3, 5, req.remote_response_timeout);
  set_bits(body, 43, 0, 1, req.end_to_end_flow_control ? 1 : 0);
  switch (req.transport) {
    case TransportType::kRc:
      break;
    case TransportType::kUc:
      set_bits(body, 43, 1, 2, kUcCode);
      break;
    case TransportType::kXrc:
      set_bits(body, 43, 1, 2, kExtendedCode);
      set_bits(body, 51, 0, 3, kXrcExtension);
      break;
  }
  store_u24(body, 44, req.starting_psn.value());
  set_bits(body, 47, 3, 5, req.local_response_timeout);
  set_bits(body, 47, 0, 3, req.retry_count);
  store_u16(body, 48, req.pkey);
  set_bits(body, 50, 4, 4, code_of(req.path_mtu));
  set_bits(body, 50, 0, 3, req.rnr_retry_count);
  set_bits(body, 51, 4, 4, req.max_cm_retries);
  set_bits(body, 51, 3, 1, req.srq ? 1 : 0);
  write_path(req.path, body);
  store_bytes(body, 140, req.private_data);
}

// --- The others ---

Rep read_rep(Bytes body) {
  Rep rep{.local_id = load_id(body, 0),
          .remote_id = load_id(body, 4),
          .local_qkey = load_u32(body, 8),
          .local_qp = QpNumber{load_u24(body, 12)},
          .local_eec = load_u24(body, 16),
          .starting_psn = Psn(load_u24(body, 20)),
          .responder_resources = load_u8(body, 24),
          .initiator_depth = load_u8(body, 25),
          .target_ack_delay = bits(body, 26, 3, 5),
          .failover_accepted = bits(body, 26, 1, 2),
          .end_to_end_flow_control = bits(body, 26, 0, 1) != 0,
          .rnr_retry_count = bits(body, 27, 5, 3),
          .srq = bits(body, 27, 4, 1) != 0,
          .local_ca_guid = load_u64(body, 28),
          .ece = {.vendor_id = std::uint32_t{load_u8(body, 15)} << 16 |
                               std::uint32_t{load_u8(body, 19)} << 8 | load_u8(body, 23)}};
  load_bytes(body, 36, rep.private_data);
  return rep;
}

void write_body(const Rep& rep, Room body) {
  store_id(body, 0, rep.local_id);
  store_id(body, 4, rep.remote_id);
  store_u32(body, 8, rep.local_qkey);
  store_u24(body, 12, to_integer(rep.local_qp));
  store_u24(body, 16, rep.local_eec);
  store_u24(body, 20, rep.starting_psn.value());
  store_u8(body, 24, rep.responder_resources);
  store_u8(body, 25, rep.initiator_depth);
  set_bits(body, 26, 3, 5, rep.target_ack_delay);
  set_bits(body, 26, 1, 2, rep.failover_accepted);
  set_bits(body, 26, 0, 1, rep.end_to_end_flow_control ? 1 : 0);
  set_bits(body, 27, 5, 3, rep.rnr_retry_count);
  set_bits(body, 27, 4, 1, rep.srq ? 1 : 0);
  store_u64(body, 28, rep.local_ca_guid);
  store_u8(body, 15, static_cast<std::uint8_t>(rep.ece.vendor_id >> 16));
  store_u8(body, 19, static_cast<std::uint8_t>(rep.ece.vendor_id >> 8));
  store_u8(body, 23, static_cast<std::uint8_t>(rep.ece.vendor_id));
  store_bytes(body, 36, rep.private_data);
}

Rtu read_rtu(Bytes body) {
  Rtu rtu{.local_id = load_id(body, 0), .remote_id = load_id(body, 4)};
  load_bytes(body, 8, rtu.private_data);
  return rtu;
}

void write_body(const Rtu& rtu, Room body) {
  store_id(body, 0, rtu.local_id);
  store_id(body, 4, rtu.remote_id);
  store_bytes(body, 8, rtu.private_data);
}

Rej read_rej(Bytes body) {
  Rej rej{.local_id = load_id(body, 0),
          .remote_id = load_id(body, 4),
          .answered = static_cast<Answered>(bits(body, 8, 6, 2)),
          .information_length = std::min(bits(body, 9, 1, 7), static_cast<std::uint8_t>(kInformationBytes)),
          .reason = RejectReason{load_u16(body, 10)}};
  load_bytes(body, 12, rej.information);
  load_bytes(body, 84, rej.private_data);
  return rej;
}

void write_body(const Rej& rej, Room body) {
  store_id(body, 0, rej.local_id);
  store_id(body, 4, rej.remote_id);
  set_bits(body, 8, 6, 2, to_integer(rej.answered));
  set_bits(body, 9, 1, 7, rej.information_length);
  store_u16(body, 10, to_integer(rej.reason));
  store_bytes(body, 12, rej.information);
  store_bytes(body, 84, rej.private_data);
}

Mra read_mra(Bytes body) {
  Mra mra{.local_id = load_id(body, 0),
          .remote_id = load_id(body, 4),
          .answered = static_cast<Answered>(bits(body, 8, 6, 2)),
          .service_timeout = bits(body, 9, 3, 5)};
  load_bytes(body, 10, mra.private_data);
  return mra;
}

void write_body(const Mra& mra, Room body) {
  store_id(body, 0, mra.local_id);
  store_id(body, 4, mra.remote_id);
  set_bits(body, 8, 6, 2, to_integer(mra.answered));
  set_bits(body, 9, 3, 5, mra.service_timeout);
  store_bytes(body, 10, mra.private_data);
}

Dreq read_dreq(Bytes body) {
  Dreq dreq{
      .local_id = load_id(body, 0), .remote_id = load_id(body, 4), .remote_qp = QpNumber{load_u24(body, 8)}};
  load_bytes(body, 12, dreq.private_data);
  return dreq;
}

void write_body(const Dreq& dreq, Room body) {
  store_id(body, 0, dreq.local_id);
  store_id(body, 4, dreq.remote_id);
  store_u24(body, 8, to_integer(dreq.remote_qp));
  store_bytes(body, 12, dreq.private_data);
}

Drep read_drep(Bytes body) {
  Drep drep{.local_id = load_id(body, 0), .remote_id = load_id(body, 4)};
  load_bytes(body, 8, drep.private_data);
  return drep;
}

void write_body(const Drep& drep, Room body) {
  store_id(body, 0, drep.local_id);
  store_id(body, 4, drep.remote_id);
  store_bytes(body, 8, drep.private_data);
}

SidrReq read_sidr_req(Bytes body) {
  SidrReq request{
      .request_id = load_id(body, 0), .pkey = load_u16(body, 4), .service_id = ServiceId{load_u64(body, 8)}};
  load_bytes(body, 16, request.private_data);
  return request;
}

void write_body(const SidrReq& request, Room body) {
  store_id(body, 0, request.request_id);
  store_u16(body, 4, request.pkey);
  store_u64(body, 8, to_integer(request.service_id));
  store_bytes(body, 16, request.private_data);
}

SidrRep read_sidr_rep(Bytes body) {
  SidrRep reply{
      .request_id = load_id(body, 0),
      .status = static_cast<SidrStatus>(load_u8(body, 4)),
      .information_length = std::min(load_u8(body, 5), static_cast<std::uint8_t>(kInformationBytes)),
      .qp = QpNumber{load_u24(body, 8)},
      .service_id = ServiceId{load_u64(body, 12)},
      .qkey = load_u32(body, 20)};
  load_bytes(body, 24, reply.information);
  load_bytes(body, 96, reply.private_data);
  return reply;
}

void write_body(const SidrRep& reply, Room body) {
  store_id(body, 0, reply.request_id);
  store_u8(body, 4, to_integer(reply.status));
  store_u8(body, 5, reply.information_length);
  store_u24(body, 8, to_integer(reply.qp));
  store_u64(body, 12, to_integer(reply.service_id));
  store_u32(body, 20, reply.qkey);
  store_bytes(body, 24, reply.information);
  store_bytes(body, 96, reply.private_data);
}

void write_body(const AlternatePath&, Room) {
  assert(false);
}

Attribute attribute_of(const Req&) {
  return Attribute::kReq;
}
Attribute attribute_of(const Rep&) {
  return Attribute::kRep;
}
Attribute attribute_of(const Rtu&) {
  return Attribute::kRtu;
}
Attribute attribute_of(const Rej&) {
  return Attribute::kRej;
}
Attribute attribute_of(const Mra&) {
  return Attribute::kMra;
}
Attribute attribute_of(const Dreq&) {
  return Attribute::kDreq;
}
Attribute attribute_of(const Drep&) {
  return Attribute::kDrep;
}
Attribute attribute_of(const SidrReq&) {
  return Attribute::kSidrReq;
}
Attribute attribute_of(const SidrRep&) {
  return Attribute::kSidrRep;
}
Attribute attribute_of(const AlternatePath&) {
  return Attribute::kLap;
}

std::optional<MadError> check_header(Bytes bytes) {
  if (bytes.size() != kMadBytes) return MadError::kWrongLength;
  if (load_u8(bytes, kBaseVersionAt) != kBaseVersion) return MadError::kWrongVersion;
  if (load_u8(bytes, kClassAt) != kCommunicationManagement) return MadError::kOtherClass;
  if (load_u8(bytes, kClassVersionAt) != kClassVersion) return MadError::kWrongClassVersion;
  if (load_u8(bytes, kMethodAt) != kMethodSend) return MadError::kOtherMethod;
  return std::nullopt;
}

std::optional<Message> read_body(Attribute attribute, Bytes body) {
  switch (attribute) {
    case Attribute::kReq:
      return read_req(body);
    case Attribute::kMra:
      return read_mra(body);
    case Attribute::kRej:
      return read_rej(body);
    case Attribute::kRep:
      return read_rep(body);
    case Attribute::kRtu:
      return read_rtu(body);
    case Attribute::kDreq:
      return read_dreq(body);
    case Attribute::kDrep:
      return read_drep(body);
    case Attribute::kSidrReq:
      return read_sidr_req(body);
    case Attribute::kSidrRep:
      return read_sidr_rep(body);
    case Attribute::kLap:
    case Attribute::kApr:
      return AlternatePath{.local_id = load_id(body, 0),
                           .remote_id = load_id(body, 4),
                           .is_load = attribute == Attribute::kLap};
  }
  return std::nullopt;
}

/// What a REQ says that means nothing.
std::optional<RejectReason> bad_field(Bytes body) {
  if (!transport_of(body)) return RejectReason::kInvalidTransportType;
  if (!mtu_of(bits(body, 50, 4, 4))) return RejectReason::kInvalidMtu;
  return std::nullopt;
}

}  // namespace

std::variant<Mad, MadError> parse(Bytes bytes) {
  if (const auto error = check_header(bytes)) return *error;
  const auto attribute = static_cast<Attribute>(load_u16(bytes, kAttributeAt));
  const Bytes body = bytes.subspan(kHeaderBytes);
  if (attribute == Attribute::kReq && bad_field(body)) return MadError::kBadField;
  auto message = read_body(attribute, body);
  if (!message) return MadError::kUnknownAttribute;
  std::visit(
      [&](auto& read) {
        if constexpr (requires { read.ece; }) read.ece.options = load_u32(bytes, kAttributeModifierAt);
      },
      *message);
  return Mad{.transaction_id = load_u64(bytes, kTransactionAt), .message = *message};
}

MessageKind kind_of(Bytes bytes) {
  return static_cast<MessageKind>(load_u16(bytes, kAttributeAt) - to_integer(Attribute::kReq));
}

std::optional<Unreadable> unreadable_request(Bytes bytes) {
  const auto error = check_header(bytes);
  if (error && *error != MadError::kWrongClassVersion) return std::nullopt;
  if (load_u16(bytes, kAttributeAt) != to_integer(Attribute::kReq)) return std::nullopt;
  const Bytes body = bytes.subspan(kHeaderBytes);
  const auto reason = error ? RejectReason::kInvalidClassVersion : bad_field(body);
  if (!reason) return std::nullopt;
  return Unreadable{
      .transaction_id = load_u64(bytes, kTransactionAt), .remote_id = load_id(body, 0), .reason = *reason};
}

std::array<std::byte, kMadBytes> write(const Mad& mad) {
  std::array<std::byte, kMadBytes> bytes{};
  store_u8(bytes, kBaseVersionAt, kBaseVersion);
  store_u8(bytes, kClassAt, kCommunicationManagement);
  store_u8(bytes, kClassVersionAt, kClassVersion);
  store_u8(bytes, kMethodAt, kMethodSend);
  store_u64(bytes, kTransactionAt, mad.transaction_id);
  const Room body = Room(bytes).subspan(kHeaderBytes);
  std::visit(
      [&](const auto& message) {
        store_u16(bytes, kAttributeAt, to_integer(attribute_of(message)));
        if constexpr (requires { message.ece; }) store_u32(bytes, kAttributeModifierAt, message.ece.options);
        write_body(message, body);
      },
      mad.message);
  return bytes;
}

}  // namespace urnic::nic::cm
