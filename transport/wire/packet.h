// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Packet: one InfiniBand packet, from the BTH to the last payload byte, parsed and checked for length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/result.h"
#include "transport/types.h"
#include "transport/wire/headers.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse_error.h"

namespace urnic::transport::wire {

/// A parsed packet. Only the headers that `info->headers` names are meaningful, the others keep their
/// defaults. `payload` points into the parsed bytes and does not include padding.
struct Packet {
  Bth bth{};
  const OpcodeInfo* info = nullptr;  ///< never null after parse_packet()
  Reth reth{};
  Aeth aeth{};
  Deth deth{};
  AtomicEth atomic{};
  std::uint64_t atomic_original = 0;  ///< AtomicAckETH
  std::uint32_t xrc_srq = 0;          ///< XRCETH, 24 bits
  Feth feth{};
  std::uint32_t immediate = 0;  ///< the four bytes as on the wire (network order in memory)
  Rkey invalidate_rkey{};       ///< IETH
  std::span<const std::byte> payload{};
  /// The IPv4 or IPv6 header that the packet came with, set by the code that parsed the frame: datagrams are
  /// received with it.
  std::span<const std::byte> network_header{};

  /// What parse_packet() does, on a packet that has its default values; undefined content after an error.
  std::optional<ParseError> read(std::span<const std::byte> bytes);
};

/// Parses `bytes`: BTH up to and including the padding, without the ICRC. Checks TVer, that the opcode exists
/// and that the length fits opcode and pad count, nothing else. Errors: kTooShort, kBadVersion,
/// kUnknownOpcode, kUnexpectedPayload.
Result<Packet, ParseError> parse_packet(std::span<const std::byte> bytes);

/// Bytes that the BTH and the extended headers of `opcode` take; just the BTH's for an opcode that does not
/// exist.
std::uint32_t header_bytes(Opcode opcode);

/// Padding for a payload of `payload_bytes`: to a multiple of four (fact 3).
constexpr std::uint8_t pad_bytes(std::size_t payload_bytes) {
  return static_cast<std::uint8_t>(-payload_bytes & 3u);
}

/// Writes BTH and the extended headers that packet.bth.opcode calls for to the front of `out` and returns
/// their size, header_bytes(opcode). `info` and `payload` are not looked at. `out` must be large enough.
std::uint32_t emit_headers(const Packet& packet, std::span<std::byte> out);

}  // namespace urnic::transport::wire
