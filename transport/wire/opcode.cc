// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/opcode.h"

#include <algorithm>

namespace urnic::transport::wire {
namespace {

constexpr std::size_t header_bytes(Headers headers) {
  constexpr std::array<std::uint8_t, 10> kBytesOfBit = {4, 8, 4, 16, 28, 4, 8, 4, 4, 16};
  std::size_t sum = 0;
  for (std::size_t bit = 0; bit < kBytesOfBit.size(); ++bit) {
    if (has(headers, static_cast<Headers>(1u << bit))) sum += kBytesOfBit[bit];
  }
  return sum;
}

enum class Goes : bool { kToRequester, kToResponder };
enum class Payload : bool { kNone, kFollows };

/// An operation of a reliable connection: the low five bits of the opcode and what they mean.
struct Row {
  std::uint8_t code;
  Operation operation;
  Position position;
  Headers headers;
  Goes goes;
  Payload payload;
  std::string_view name;
};

constexpr Row request(std::uint8_t code, Operation operation, Position position, Headers headers,
                      Payload payload, std::string_view name) {
  return Row{code, operation, position, headers, Goes::kToResponder, payload, name};
}

constexpr Row response(std::uint8_t code, Operation operation, Position position, Headers headers,
                       Payload payload, std::string_view name) {
  return Row{code, operation, position, headers, Goes::kToRequester, payload, name};
}

using enum Operation;
using enum Position;
constexpr Headers kNoHeaders = Headers::kNone;
constexpr Payload kNoPayload = Payload::kNone;
constexpr Payload kPayload = Payload::kFollows;

// clang-format off
constexpr auto kRows = std::to_array<Row>({
    request(0x00, kSend, kFirst, kNoHeaders, kPayload, "SEND First"),
    request(0x01, kSend, kMiddle, kNoHeaders, kPayload, "SEND Middle"),
    request(0x02, kSend, kLast, kNoHeaders, kPayload, "SEND Last"),
    request(0x03, kSend, kLast, Headers::kImmediate, kPayload, "SEND Last with Immediate"),
    request(0x04, kSend, kOnly, kNoHeaders, kPayload, "SEND Only"),
    request(0x05, kSend, kOnly, Headers::kImmediate, kPayload, "SEND Only with Immediate"),
    request(0x06, kWrite, kFirst, Headers::kReth, kPayload, "RDMA WRITE First"),
    request(0x07, kWrite, kMiddle, kNoHeaders, kPayload, "RDMA WRITE Middle"),
    request(0x08, kWrite, kLast, kNoHeaders, kPayload, "RDMA WRITE Last"),
    request(0x09, kWrite, kLast, Headers::kImmediate, kPayload, "RDMA WRITE Last with Immediate"),
    request(0x0a, kWrite, kOnly, Headers::kReth, kPayload, "RDMA WRITE Only"),
    request(0x0b, kWrite, kOnly, Headers::kReth | Headers::kImmediate, kPayload, "RDMA WRITE Only with Immediate"),
    request(0x0c, kReadRequest, kOnly, Headers::kReth, kNoPayload, "RDMA READ Request"),
    response(0x0d, kReadResponse, kFirst, Headers::kAeth, kPayload, "RDMA READ response First"),
    response(0x0e, kReadResponse, kMiddle, kNoHeaders, kPayload, "RDMA READ response Middle"),
    response(0x0f, kReadResponse, kLast, Headers::kAeth, kPayload, "RDMA READ response Last"),
    response(0x10, kReadResponse, kOnly, Headers::kAeth, kPayload, "RDMA READ response Only"),
    response(0x11, kAcknowledge, kOnly, Headers::kAeth, kNoPayload, "Acknowledge"),
    response(0x12, kAtomicAcknowledge, kOnly, Headers::kAeth | Headers::kAtomicAckEth, kNoPayload,
             "ATOMIC Acknowledge"),
    request(0x13, kCompareSwap, kOnly, Headers::kAtomicEth, kNoPayload, "CmpSwap"),
    request(0x14, kFetchAdd, kOnly, Headers::kAtomicEth, kNoPayload, "FetchAdd"),
    request(0x16, kSend, kLast, Headers::kIeth, kPayload, "SEND Last with Invalidate"),
    request(0x17, kSend, kOnly, Headers::kIeth, kPayload, "SEND Only with Invalidate"),
    // FETH stands before RETH, as Linux rxe 6.2 has it.
    request(0x1c, kFlush, kOnly, Headers::kFeth | Headers::kReth, kNoPayload, "FLUSH"),
    request(0x1d, kAtomicWrite, kOnly, Headers::kReth, kPayload, "ATOMIC WRITE"),
});
// clang-format on

/// Those that stand alone, by their whole opcode.
constexpr Row kCnpRow =
    response(0x81, kCongestionNotification, kOnly, Headers::kCnpReserved, kNoPayload, "CNP");
constexpr Row kSelectiveNakRow =
    response(0xd1, Operation::kSelectiveNak, kOnly, Headers::kAeth, kPayload, "RC Selective NAK");

/// A service and which of the rows it has.
struct ServiceRow {
  Service service;
  std::string_view prefix;
  std::uint8_t first_code;
  std::uint8_t last_code;
  Headers request_headers;  ///< that every request of this service carries besides
};

constexpr auto kServices = std::to_array<ServiceRow>({
    {Service::kRc, "RC ", 0x00, 0x1d, Headers::kNone},
    {Service::kUc, "UC ", 0x00, 0x0b, Headers::kNone},
    {Service::kUd, "UD ", 0x04, 0x05, Headers::kDeth},
    {Service::kXrc, "XRC ", 0x00, 0x1d, Headers::kXrceth},
});

constexpr std::size_t kOpcodes = 256;

/// Room for "XRC RDMA WRITE Only with Immediate".
using Name = std::array<char, 40>;

constexpr std::size_t index(Service service, const Row& row) {
  return to_integer(service) | row.code;
}

template <typename Visit>
constexpr void for_each_opcode(Visit visit) {
  for (const ServiceRow& service : kServices) {
    for (const Row& row : kRows) {
      if (row.code >= service.first_code && row.code <= service.last_code) {
        const bool to_responder = row.goes == Goes::kToResponder;
        visit(index(service.service, row), service.prefix, row,
              to_responder ? service.request_headers | row.headers : row.headers);
      }
    }
  }
  for (const Row& row : {kCnpRow, kSelectiveNakRow}) visit(row.code, std::string_view(), row, row.headers);
}

constexpr std::array<Name, kOpcodes> make_names() {
  std::array<Name, kOpcodes> names{};
  for_each_opcode([&](std::size_t opcode, std::string_view prefix, const Row& row, Headers) {
    const auto end = std::copy(prefix.begin(), prefix.end(), names[opcode].begin());
    std::copy(row.name.begin(), row.name.end(), end);
  });
  return names;
}

constexpr std::array<Name, kOpcodes> kNames = make_names();

constexpr std::array<OpcodeInfo, kOpcodes> make_table() {
  std::array<OpcodeInfo, kOpcodes> table{};
  for_each_opcode([&](std::size_t opcode, std::string_view, const Row& row, Headers headers) {
    table[opcode] = OpcodeInfo{.operation = row.operation,
                               .position = row.position,
                               .headers = headers,
                               .header_bytes = static_cast<std::uint8_t>(header_bytes(headers)),
                               .is_request = row.goes == Goes::kToResponder,
                               .has_payload = row.payload == Payload::kFollows,
                               .name = kNames[opcode].data()};
  });
  return table;
}

constexpr std::array<OpcodeInfo, kOpcodes> kTable = make_table();

constexpr Opcode kNoOpcode{0xff};
static_assert(!kTable[to_integer(kNoOpcode)].exists());

/// Of each opcode, by position.
using Places = std::array<std::array<Opcode, 4>, kOpcodes>;

constexpr bool are_of_one_message(const OpcodeInfo& a, const OpcodeInfo& b) {
  constexpr Headers kOfTheEnd = Headers::kImmediate | Headers::kIeth;
  const bool are_both_ends = a.ends_message() && b.ends_message();
  return a.operation == b.operation &&
         (!are_both_ends ||
          (to_integer(a.headers) & to_integer(kOfTheEnd)) == (to_integer(b.headers) & to_integer(kOfTheEnd)));
}

constexpr Places make_places() {
  Places places{};
  for (std::size_t opcode = 0; opcode < kOpcodes; ++opcode) {
    places[opcode].fill(kNoOpcode);
    if (!kTable[opcode].exists()) continue;
    constexpr std::size_t kOpcodesOfService = 0x20;
    const std::size_t first = opcode / kOpcodesOfService * kOpcodesOfService;
    for (std::size_t other = first; other < first + kOpcodesOfService; ++other) {
      Opcode& place = places[opcode][static_cast<std::size_t>(kTable[other].position)];
      const bool is_first_found = place == kNoOpcode;
      if (is_first_found && are_of_one_message(kTable[opcode], kTable[other])) {
        place = static_cast<Opcode>(other);
      }
    }
  }
  return places;
}

constexpr Places kPlaces = make_places();

}  // namespace

Opcode at_position(Opcode opcode, Position position) {
  return kPlaces[to_integer(opcode)][static_cast<std::size_t>(position)];
}

std::size_t bytes_before(Headers header, Headers present) {
  const auto below = static_cast<Headers>((to_integer(header) - 1u) & to_integer(present));
  return header_bytes(below);
}

const OpcodeInfo& info(Opcode opcode) {
  return kTable[to_integer(opcode)];
}

}  // namespace urnic::transport::wire
