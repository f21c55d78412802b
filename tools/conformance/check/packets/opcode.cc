// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/packets/opcode.h"

#include <fmt/core.h>

#include <array>

namespace urnic::check {
namespace {

constexpr std::size_t kServiceShift = 5;
constexpr std::size_t kOperationMask = 0x1f;
constexpr std::size_t kOperations = 32;

/// The 32 operations of a connected service; the services below take what they have of them.
constexpr std::array<OpcodeInfo, kOperations> kConnected = [] {
  std::array<OpcodeInfo, kOperations> table{};
  constexpr Position kPositions[] = {Position::kFirst, Position::kMiddle, Position::kLast,
                                     Position::kLast,  Position::kOnly,   Position::kOnly};
  constexpr std::size_t kWrites = 0x06;
  for (std::size_t i = 0; i < std::size(kPositions); ++i) {
    const bool immediate = i == 3 || i == 5;
    table[i] = {.operation = Operation::kSend,
                .position = kPositions[i],
                .has_immediate = immediate,
                .has_payload = true};
    table[kWrites + i] = {.operation = Operation::kWrite,
                          .position = kPositions[i],
                          .has_reth = kPositions[i] == Position::kFirst || kPositions[i] == Position::kOnly,
                          .has_immediate = immediate,
                          .has_payload = true};
  }
  table[0x0c] = {.operation = Operation::kRead, .has_reth = true};
  const auto read_response = [](Position position) {
    return OpcodeInfo{.operation = Operation::kReadResponse,
                      .position = position,
                      .has_aeth = position != Position::kMiddle,
                      .has_payload = true};
  };
  table[0x0d] = read_response(Position::kFirst);
  table[0x0e] = read_response(Position::kMiddle);
  table[0x0f] = read_response(Position::kLast);
  table[0x10] = read_response(Position::kOnly);
  table[0x11] = {.operation = Operation::kAcknowledge, .has_aeth = true};
  table[0x12] = {.operation = Operation::kAtomicAcknowledge, .has_aeth = true, .has_atomic_ack = true};
  table[0x13] = {.operation = Operation::kCompareSwap, .has_atomic = true};
  table[0x14] = {.operation = Operation::kFetchAdd, .has_atomic = true};
  table[0x16] = {
      .operation = Operation::kSend, .position = Position::kLast, .has_ieth = true, .has_payload = true};
  table[0x17] = {.operation = Operation::kSend, .has_ieth = true, .has_payload = true};
  table[0x1c] = {.operation = Operation::kFlush, .has_feth = true, .has_reth = true};
  table[0x1d] = {.operation = Operation::kAtomicWrite, .has_reth = true, .has_payload = true};
  return table;
}();

constexpr std::array<OpcodeInfo, 256> kOpcodes = [] {
  std::array<OpcodeInfo, 256> table{};
  constexpr Service kServices[] = {Service::kRc,  Service::kUc,  Service::kRd,     Service::kUd,
                                   Service::kCnp, Service::kXrc, Service::kVendor, Service::kVendor};
  constexpr std::size_t kLastOfUnreliable = 0x0b;
  for (std::size_t opcode = 0; opcode < table.size(); ++opcode) {
    const Service service = kServices[opcode >> kServiceShift];
    const std::size_t operation = opcode & kOperationMask;
    const bool exists = service == Service::kRc || service == Service::kXrc ||
                        (service == Service::kUc && operation <= kLastOfUnreliable);
    if (exists) table[opcode] = kConnected[operation];
    table[opcode].service = service;
    // XRC requests name the receive queue, READs and atomics included; responses do not.
    const bool response = operation >= 0x0d && operation <= 0x12;
    table[opcode].has_xrceth = service == Service::kXrc && exists && !response;
  }
  for (const std::size_t opcode : {0x64u, 0x65u}) {
    table[opcode].operation = Operation::kSend;
    table[opcode].has_deth = true;
    table[opcode].has_payload = true;
    table[opcode].has_immediate = opcode == 0x65u;
  }
  table[kSelectiveNakOpcode] = {
      .service = Service::kRc, .operation = Operation::kSelectiveNak, .has_aeth = true, .has_payload = true};
  table[kCnpOpcode].operation = Operation::kCnp;
  table[kCnpOpcode].has_payload = true;
  return table;
}();

}  // namespace

bool OpcodeInfo::is_response() const {
  return operation == Operation::kReadResponse || is_acknowledge() ||
         operation == Operation::kAtomicAcknowledge;
}

bool OpcodeInfo::is_acknowledge() const {
  return operation == Operation::kAcknowledge || operation == Operation::kSelectiveNak;
}

bool OpcodeInfo::wants_data_back() const {
  return is_atomic() || operation == Operation::kRead || operation == Operation::kFlush ||
         operation == Operation::kAtomicWrite;
}

bool OpcodeInfo::may_set_solicited() const {
  return ends_message() &&
         (operation == Operation::kSend || (operation == Operation::kWrite && has_immediate));
}

std::size_t OpcodeInfo::header_bytes() const {
  const auto bytes = [](bool present, std::size_t size) { return present ? size : 0; };
  return kBthBytes + bytes(has_xrceth, 4) + bytes(has_deth, 8) + bytes(has_feth, 4) + bytes(has_reth, 16) +
         bytes(has_aeth, 4) + bytes(has_atomic, 28) + bytes(has_atomic_ack, 8) + bytes(has_immediate, 4) +
         bytes(has_ieth, 4);
}

const OpcodeInfo& info_of(std::uint8_t opcode) {
  return kOpcodes[opcode];
}

const char* to_string(Service service) {
  switch (service) {
    case Service::kRc:
      return "RC";
    case Service::kUc:
      return "UC";
    case Service::kRd:
      return "RD";
    case Service::kUd:
      return "UD";
    case Service::kCnp:
      return "CNP";
    case Service::kXrc:
      return "XRC";
    case Service::kVendor:
      break;
  }
  return "vendor";
}

const char* to_string(Operation operation) {
  switch (operation) {
    case Operation::kSend:
      return "SEND";
    case Operation::kWrite:
      return "WRITE";
    case Operation::kRead:
      return "READ";
    case Operation::kCompareSwap:
      return "CMP_SWAP";
    case Operation::kFetchAdd:
      return "FETCH_ADD";
    case Operation::kFlush:
      return "FLUSH";
    case Operation::kAtomicWrite:
      return "ATOMIC_WRITE";
    case Operation::kReadResponse:
      return "READ response";
    case Operation::kAcknowledge:
      return "ACK";
    case Operation::kAtomicAcknowledge:
      return "ATOMIC ACK";
    case Operation::kSelectiveNak:
      return "Selective NAK";
    case Operation::kCnp:
      return "CNP";
    case Operation::kReserved:
      break;
  }
  return "reserved";
}

static const char* word_for(Position position) {
  switch (position) {
    case Position::kFirst:
      return " First";
    case Position::kMiddle:
      return " Middle";
    case Position::kLast:
      return " Last";
    case Position::kOnly:
      break;
  }
  return " Only";
}

std::string name_of(std::uint8_t opcode) {
  const OpcodeInfo& info = info_of(opcode);
  if (!info.is_known()) return fmt::format("opcode {:#04x}", opcode);
  if (info.operation == Operation::kCnp) return "CNP";
  const bool has_position = info.operation == Operation::kSend || info.operation == Operation::kWrite ||
                            info.operation == Operation::kReadResponse;
  return fmt::format("{} {}{}{}", to_string(info.service), to_string(info.operation),
                     has_position ? word_for(info.position) : "",
                     info.has_immediate ? " with Immediate"
                     : info.has_ieth    ? " with Invalidate"
                                        : "");
}

}  // namespace urnic::check
