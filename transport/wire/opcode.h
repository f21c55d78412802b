// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The one table of protocol facts: what each BTH opcode is, which headers follow it, where it stands in a
// message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "transport/types.h"

namespace urnic::transport::wire {

/// The transport service: the top three bits of a BTH opcode.
enum class Service : std::uint8_t {
  kRc = 0x00,
  kUc = 0x20,
  kRd = 0x40,
  kUd = 0x60,
  kCnp = 0x80,
  kXrc = 0xa0
};

/// What a packet does: the low five bits of a BTH opcode name operation and position together.
enum class Operation : std::uint8_t {
  kNone,  ///< no such opcode
  kSend,
  kWrite,
  kReadRequest,
  kReadResponse,
  kAcknowledge,
  kAtomicAcknowledge,
  kCompareSwap,
  kFetchAdd,
  kFlush,
  kAtomicWrite,
  kCongestionNotification,
  kSelectiveNak,  ///< of urnic alone: transport/rc/recovery/SELECTIVE_REPEAT.md
};

/// Where a packet stands in its message.
enum class Position : std::uint8_t { kFirst, kMiddle, kLast, kOnly };

/// The extended headers that follow the BTH, a set of bits; on the wire they stand in the order of the bits.
enum class Headers : std::uint16_t {
  kNone = 0,
  kXrceth = 1 << 0,        ///< 4 bytes
  kDeth = 1 << 1,          ///< 8 bytes
  kFeth = 1 << 2,          ///< 4 bytes
  kReth = 1 << 3,          ///< 16 bytes
  kAtomicEth = 1 << 4,     ///< 28 bytes
  kAeth = 1 << 5,          ///< 4 bytes
  kAtomicAckEth = 1 << 6,  ///< 8 bytes
  kImmediate = 1 << 7,     ///< 4 bytes
  kIeth = 1 << 8,          ///< 4 bytes
  kCnpReserved = 1 << 9,   ///< 16 bytes: zero when sent, ignored when received (fact 49)
};

constexpr Headers operator|(Headers a, Headers b) {
  return static_cast<Headers>(to_integer(a) | to_integer(b));
}
constexpr bool has(Headers set, Headers header) {
  return (to_integer(set) & to_integer(header)) != 0;
}

/// BTH opcodes by name, for writing packets. Reading goes through info(). UC and XRC have RC's operations:
/// with_service(Opcode::kRcSendOnly, Service::kUc).
enum class Opcode : std::uint8_t {
  kRcSendFirst = 0x00,
  kRcSendMiddle = 0x01,
  kRcSendLast = 0x02,
  kRcSendLastWithImmediate = 0x03,
  kRcSendOnly = 0x04,
  kRcSendOnlyWithImmediate = 0x05,
  kRcWriteFirst = 0x06,
  kRcWriteMiddle = 0x07,
  kRcWriteLast = 0x08,
  kRcWriteLastWithImmediate = 0x09,
  kRcWriteOnly = 0x0a,
  kRcWriteOnlyWithImmediate = 0x0b,
  kRcReadRequest = 0x0c,
  kRcReadResponseFirst = 0x0d,
  kRcReadResponseMiddle = 0x0e,
  kRcReadResponseLast = 0x0f,
  kRcReadResponseOnly = 0x10,
  kRcAcknowledge = 0x11,
  kRcAtomicAcknowledge = 0x12,
  kRcCompareSwap = 0x13,
  kRcFetchAdd = 0x14,
  kRcSendLastWithInvalidate = 0x16,
  kRcSendOnlyWithInvalidate = 0x17,
  kRcFlush = 0x1c,
  kRcAtomicWrite = 0x1d,
  kUdSendOnly = 0x64,
  kUdSendOnlyWithImmediate = 0x65,
  kCnp = 0x81,
  kSelectiveNak = 0xd1,  ///< in the range left to manufacturers; of RC
};

/// One row of the table.
struct OpcodeInfo {
  Operation operation = Operation::kNone;
  Position position = Position::kOnly;
  Headers headers = Headers::kNone;
  std::uint8_t header_bytes = 0;  ///< of the extended headers together
  bool is_request = false;   ///< goes to a responder (true) or answers a requester (false), as a CNP does
  bool has_payload = false;  ///< payload may follow; otherwise there must be none
  std::string_view name = "unknown";  ///< of static storage, e.g. "RC SEND Last with Immediate"

  constexpr bool exists() const { return operation != Operation::kNone; }
  constexpr bool begins_message() const {
    return position == Position::kFirst || position == Position::kOnly;
  }
  constexpr bool ends_message() const { return position == Position::kLast || position == Position::kOnly; }
  constexpr bool has_immediate() const { return has(headers, Headers::kImmediate); }
};

/// The service that an opcode belongs to; for one that does not exist that need not be one.
constexpr Service service(Opcode opcode) {
  if (opcode == Opcode::kSelectiveNak) return Service::kRc;
  return static_cast<Service>(to_integer(opcode) & 0xe0);
}

/// The same operation and position in another service; it exists if that service has it.
constexpr Opcode with_service(Opcode opcode, Service service) {
  return static_cast<Opcode>((to_integer(opcode) & 0x1f) | to_integer(service));
}

/// The opcode of another packet of a message that has a packet of this one, at `position`. Only the packet
/// that ends the message has the immediate, or the key to be invalidated. The opcode does not exist where
/// messages of this service and operation have no such packet.
Opcode at_position(Opcode opcode, Position position);

/// Bytes of the headers of `present` that stand before `header` on the wire.
std::size_t bytes_before(Headers header, Headers present);

/// The table row of `opcode`; a row with Operation::kNone for opcodes that do not exist. Any of 256 values is
/// fine.
const OpcodeInfo& info(Opcode opcode);

}  // namespace urnic::transport::wire
