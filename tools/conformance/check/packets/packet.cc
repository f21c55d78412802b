// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/packets/packet.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "tools/conformance/check/packets/icrc.h"

namespace urnic::check {
namespace {

void take_bth(Packet& packet, ByteView bytes) {
  const std::uint8_t flags = load_u8(bytes, 1);
  packet.opcode = load_u8(bytes, 0);
  packet.info = &info_of(packet.opcode);
  packet.solicited = (flags & 0x80) != 0;
  packet.migration = (flags & 0x40) != 0;
  packet.pad_bytes = (flags >> 4) & 3;
  packet.version = flags & 0xf;
  packet.p_key = load_u16(bytes, 2);
  packet.fecn = (load_u8(bytes, 4) & 0x80) != 0;
  packet.becn = (load_u8(bytes, 4) & 0x40) != 0;
  packet.reserved = static_cast<std::uint8_t>((load_u8(bytes, 4) & 0x3f) | (load_u8(bytes, 8) & 0x7f));
  packet.destination_qp = load_u24(bytes, 5);
  packet.ack_requested = (load_u8(bytes, 8) & 0x80) != 0;
  packet.psn = Psn(load_u24(bytes, 9));
}

void take_extended_headers(Packet& packet, ByteView bytes) {
  const OpcodeInfo& info = *packet.info;
  std::size_t at = kBthBytes;
  if (info.has_xrceth) {
    packet.xrceth = load_u32(bytes, at);
    at += 4;
  }
  if (info.has_deth) {
    packet.q_key = load_u32(bytes, at);
    packet.source_qp = load_u24(bytes, at + 5);
    at += 8;
  }
  if (info.has_feth) {
    packet.feth = load_u32(bytes, at);
    at += 4;
  }
  if (info.has_reth) {
    packet.address = load_u64(bytes, at);
    packet.r_key = load_u32(bytes, at + 8);
    packet.length = load_u32(bytes, at + 12);
    at += 16;
  }
  if (info.has_atomic) {
    packet.address = load_u64(bytes, at);
    packet.r_key = load_u32(bytes, at + 8);
    packet.swap_or_add = load_u64(bytes, at + 12);
    packet.compare = load_u64(bytes, at + 20);
    at += 28;
  }
  if (info.has_aeth) {
    packet.syndrome = load_u8(bytes, at);
    packet.msn = load_u24(bytes, at + 1);
    at += 4;
  }
  if (info.has_atomic_ack) {
    packet.original = load_u64(bytes, at);
    at += 8;
  }
  if (info.has_immediate) packet.immediate = load_u32(bytes, at);
  if (info.has_ieth) packet.invalidated_r_key = load_u32(bytes, at);
}

}  // namespace

Packet parse_packet(const Frame& frame) {
  Packet packet;
  take_bth(packet, frame.ib);
  const auto fail = [&packet](PacketFault fault) {
    packet.fault = fault;
    return packet;
  };
  if (!packet.info->is_known()) return fail(PacketFault::kUnknownOpcode);
  const std::size_t headers = packet.info->header_bytes();
  if (frame.ib_bytes < headers + kIcrcBytes) return fail(PacketFault::kTooShort);
  const std::size_t body = frame.ib_bytes - headers - kIcrcBytes;
  if (frame.ib.size() < headers) return fail(PacketFault::kCut);
  take_extended_headers(packet, frame.ib);
  if (body % 4 != 0) return fail(PacketFault::kMisaligned);
  if (packet.pad_bytes > body) return fail(PacketFault::kPadding);
  packet.payload_bytes = body - packet.pad_bytes;
  const std::size_t captured = frame.ib.size() - headers;
  packet.payload = frame.ib.subspan(headers, std::min(captured, packet.payload_bytes));
  packet.padding =
      captured > packet.payload_bytes
          ? frame.ib.subspan(headers + packet.payload_bytes,
                             std::min<std::size_t>(captured - packet.payload_bytes, packet.pad_bytes))
          : ByteView();
  return packet;
}

std::uint32_t content_digest(const Packet& packet) {
  const std::array operands = {packet.swap_or_add, packet.compare};
  return digest_of(packet.info->is_atomic() ? std::as_bytes(std::span(operands)) : packet.payload);
}

AnswerKind kind_of(std::uint8_t syndrome) {
  constexpr std::uint8_t kInvalidRdRequest = 0x64;
  switch (syndrome >> 5) {
    case 0:
      return AnswerKind::kAck;
    case 1:
      return AnswerKind::kRnrNak;
    case 3:
      if (syndrome == 0x60) return AnswerKind::kSequenceNak;
      return syndrome <= kInvalidRdRequest ? AnswerKind::kFatalNak : AnswerKind::kReserved;
    default:
      return AnswerKind::kReserved;
  }
}

std::string describe_syndrome(std::uint8_t syndrome) {
  constexpr const char* kNaks[] = {"PSN sequence error", "invalid request", "remote access error",
                                   "remote operational error", "invalid RD request"};
  const unsigned code = syndrome & 0x1fu;
  switch (kind_of(syndrome)) {
    case AnswerKind::kAck:
      return "ACK";
    case AnswerKind::kRnrNak:
      return fmt::format("RNR NAK, timer {} ({} ms)", code,
                         static_cast<double>(rnr_timer_ns(static_cast<std::uint8_t>(code))) / 1e6);
    case AnswerKind::kSequenceNak:
    case AnswerKind::kFatalNak:
      return fmt::format("NAK {}", kNaks[code]);
    case AnswerKind::kReserved:
      break;
  }
  return fmt::format("reserved syndrome {:#04x}", syndrome);
}

std::int64_t rnr_timer_ns(std::uint8_t code) {
  // Units of 10 us.
  constexpr std::int64_t kTimers[] = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                                      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                                      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  static_assert(std::size(kTimers) == 32);
  return kTimers[code & 0x1f] * 10'000;
}

}  // namespace urnic::check
