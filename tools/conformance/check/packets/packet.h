// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The InfiniBand packet inside a frame: BTH, extended headers, payload. A parser apart from the product's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/conformance/check/packets/frame.h"
#include "tools/conformance/check/packets/opcode.h"
#include "tools/conformance/check/packets/psn.h"

namespace urnic::check {

/// Of every management datagram, its header included (fact 44).
inline constexpr std::size_t kMadBytes = 256;

/// What keeps a packet from being understood. BTH is always there.
enum class PacketFault : std::uint8_t {
  kNone,
  kUnknownOpcode,
  kTooShort,    ///< the headers of its opcode do not fit (fact 4)
  kMisaligned,  ///< payload and padding are not a multiple of four bytes
  kPadding,     ///< more padding than payload
  kCut,         ///< the capture ends before the payload begins
};

/// Every field in host order. Headers that the opcode does not have are zero.
struct Packet {
  PacketFault fault = PacketFault::kNone;
  std::uint8_t opcode = 0;
  const OpcodeInfo* info = nullptr;
  bool solicited = false;
  bool migration = false;
  std::uint8_t pad_bytes = 0;
  std::uint8_t version = 0;
  std::uint16_t p_key = 0;
  bool fecn = false;
  bool becn = false;
  std::uint8_t reserved = 0;  ///< six bits beside BECN, and seven beside AckReq
  std::uint32_t destination_qp = 0;
  bool ack_requested = false;
  Psn psn;

  std::uint32_t xrceth = 0;  ///< the SRQ number, and eight reserved bits above it
  std::uint32_t q_key = 0;
  std::uint32_t source_qp = 0;
  std::uint32_t feth = 0;
  std::uint64_t address = 0;  ///< of RETH or AtomicETH
  std::uint32_t r_key = 0;
  std::uint32_t length = 0;       ///< of RETH
  std::uint64_t swap_or_add = 0;  ///< of AtomicETH
  std::uint64_t compare = 0;      ///< of AtomicETH
  std::uint8_t syndrome = 0;      ///< of AETH
  std::uint32_t msn = 0;          ///< of AETH
  std::uint64_t original = 0;     ///< of AtomicAckETH
  std::uint32_t immediate = 0;
  std::uint32_t invalidated_r_key = 0;  ///< of IETH

  std::size_t payload_bytes = 0;  ///< as the lengths say
  ByteView payload;               ///< as far as captured
  ByteView padding;               ///< as far as captured
};

/// `frame` has no fault and at least a BTH of captured bytes.
Packet parse_packet(const Frame& frame);

/// Tells what two requests carry apart: a digest of the payload, or of an atomic's operands.
std::uint32_t content_digest(const Packet& packet);

/// "ACK", "NAK PSN sequence error", "RNR NAK, timer 20" and so on.
std::string describe_syndrome(std::uint8_t syndrome);

/// Syndromes of NAKs that refuse a request for good.
inline constexpr std::uint8_t kInvalidRequestNak = 0x61;
inline constexpr std::uint8_t kRemoteAccessNak = 0x62;
inline constexpr std::uint8_t kRemoteOperationalNak = 0x63;

enum class AnswerKind : std::uint8_t { kAck, kRnrNak, kSequenceNak, kFatalNak, kReserved };
AnswerKind kind_of(std::uint8_t syndrome);

/// Fact 35, in nanoseconds; `code` has five bits.
std::int64_t rnr_timer_ns(std::uint8_t code);

}  // namespace urnic::check
