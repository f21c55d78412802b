// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the checker knows about opcodes: a table of its own, so that a slip in the product's table is seen
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace urnic::check {

enum class Service : std::uint8_t { kRc, kUc, kRd, kUd, kCnp, kXrc, kVendor };
enum class Operation : std::uint8_t {
  kReserved,
  kSend,
  kWrite,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kFlush,
  kAtomicWrite,
  kReadResponse,
  kAcknowledge,
  kAtomicAcknowledge,
  kSelectiveNak,
  kCnp,
};
enum class Position : std::uint8_t { kFirst, kMiddle, kLast, kOnly };

/// One opcode: what it does and which headers stand between its BTH and its payload, in this order.
struct OpcodeInfo {
  Service service = Service::kVendor;
  Operation operation = Operation::kReserved;
  Position position = Position::kOnly;
  bool has_xrceth = false;
  bool has_deth = false;
  bool has_feth = false;
  bool has_reth = false;
  bool has_aeth = false;
  bool has_atomic = false;
  bool has_atomic_ack = false;
  bool has_immediate = false;
  bool has_ieth = false;
  bool has_payload = false;

  bool is_known() const { return operation != Operation::kReserved; }
  bool is_connected() const { return service == Service::kRc || service == Service::kXrc; }
  bool is_response() const;
  /// Whether it is an ACK or a NAK and carries nothing of a request's data.
  bool is_acknowledge() const;
  /// Whether it is a READ or anything else that a response with data answers.
  bool wants_data_back() const;
  bool is_atomic() const { return operation == Operation::kCompareSwap || operation == Operation::kFetchAdd; }
  bool starts_message() const { return position == Position::kFirst || position == Position::kOnly; }
  bool ends_message() const { return position == Position::kLast || position == Position::kOnly; }
  /// Whether executing it takes a receive from the responder's queue, so that it may be refused as not ready.
  bool may_set_solicited() const;
  std::size_t header_bytes() const;  ///< BTH included
};

inline constexpr std::size_t kBthBytes = 12;
inline constexpr std::size_t kIcrcBytes = 4;
inline constexpr std::size_t kLeastIbBytes = kBthBytes + kIcrcBytes;
inline constexpr std::uint32_t kLargestMtu = 4096;
inline constexpr std::uint32_t kGsiQp = 1;  ///< for the datagrams of connection managers
inline constexpr std::uint8_t kCnpOpcode = 0x81;
/// Of urnic's selective repeat, in the range left to manufacturers (see SELECTIVE_REPEAT.md).
inline constexpr std::uint8_t kSelectiveNakOpcode = 0xd1;
inline constexpr std::size_t kSelectiveNakBytes = 32;  ///< of its payload: a bit for each of 256 packets

/// The row of an opcode; unknown ones have `Operation::kReserved`.
const OpcodeInfo& info_of(std::uint8_t opcode);

const char* to_string(Service service);
const char* to_string(Operation operation);
/// As people say it: "RC SEND Last with Immediate"; "opcode 0x3f" when there is no such opcode.
std::string name_of(std::uint8_t opcode);

}  // namespace urnic::check
