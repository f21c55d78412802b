// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/script/packet_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace urnic::scripts {
namespace {

/// Extended headers, a set of bits, in the order in which they follow the BTH.
enum Extended : unsigned {
  kNoHeader = 0,
  kXrceth = 1u << 0,
  kDeth = 1u << 1,
  kFeth = 1u << 2,
  kReth = 1u << 3,
  kAtomicEth = 1u << 4,
  kAeth = 1u << 5,
  kAtomicAckEth = 1u << 6,
  kImmEth = 1u << 7,
  kIeth = 1u << 8,
  kBth = 1u << 9,
};

enum Services : unsigned {
  kOnRc = 1,
  kOnUc = 2,
  kOnUd = 4,
  kOnXrc = 8,
  kReliable = kOnRc | kOnXrc,
  kConnected = 11,
  kAll = 15
};

enum class Payload : std::uint8_t { kNone, kAny, kFull };

struct Kind {
  std::string_view name;
  std::uint8_t operation;
  unsigned services;
  unsigned headers;  // without XRCETH and DETH, which depend on the service
  Payload payload;
  bool is_request = true;
  int syndrome = -1;  // of names that say one
  std::uint8_t syndrome_mask = 0xff;
};

constexpr std::uint8_t kAcknowledge = 17;

// Operations as InfiniBand numbers them. Acknowledgements are told apart by their syndrome (fact 19).
constexpr auto kKinds = std::to_array<Kind>({
    {"SEND_FIRST", 0, kConnected, kNoHeader, Payload::kFull},
    {"SEND_MIDDLE", 1, kConnected, kNoHeader, Payload::kFull},
    {"SEND_LAST", 2, kConnected, kNoHeader, Payload::kAny},
    {"SEND_LAST_IMM", 3, kConnected, kImmEth, Payload::kAny},
    {"SEND_ONLY", 4, kAll, kNoHeader, Payload::kAny},
    {"SEND_ONLY_IMM", 5, kAll, kImmEth, Payload::kAny},
    {"WRITE_FIRST", 6, kConnected, kReth, Payload::kFull},
    {"WRITE_MIDDLE", 7, kConnected, kNoHeader, Payload::kFull},
    {"WRITE_LAST", 8, kConnected, kNoHeader, Payload::kAny},
    {"WRITE_LAST_IMM", 9, kConnected, kImmEth, Payload::kAny},
    {"WRITE_ONLY", 10, kConnected, kReth, Payload::kAny},
    {"WRITE_ONLY_IMM", 11, kConnected, kReth | kImmEth, Payload::kAny},
    {"READ_REQUEST", 12, kReliable, kReth, Payload::kNone},
    {"READ_RESPONSE_FIRST", 13, kReliable, kAeth, Payload::kFull, false},
    {"READ_RESPONSE_MIDDLE", 14, kReliable, kNoHeader, Payload::kFull, false},
    {"READ_RESPONSE_LAST", 15, kReliable, kAeth, Payload::kAny, false},
    {"READ_RESPONSE_ONLY", 16, kReliable, kAeth, Payload::kAny, false},
    {"ACK", kAcknowledge, kReliable, kAeth, Payload::kNone, false, 0x1f, 0xe0},
    {"RNR_NAK", kAcknowledge, kReliable, kAeth, Payload::kNone, false, 0x20, 0xe0},
    {"NAK_SEQUENCE", kAcknowledge, kReliable, kAeth, Payload::kNone, false, 0x60},
    {"NAK_INVALID_REQUEST", kAcknowledge, kReliable, kAeth, Payload::kNone, false, 0x61},
    {"NAK_REMOTE_ACCESS", kAcknowledge, kReliable, kAeth, Payload::kNone, false, 0x62},
    {"NAK_REMOTE_OPERATION", kAcknowledge, kReliable, kAeth, Payload::kNone, false, 0x63},
    {"NAK_OTHER", kAcknowledge, kReliable, kAeth, Payload::kNone, false, 0x7f, 0x00},
    {"ATOMIC_ACK", 18, kReliable, kAeth | kAtomicAckEth, Payload::kNone, false},
    {"CMP_SWAP", 19, kReliable, kAtomicEth, Payload::kNone},
    {"FETCH_ADD", 20, kReliable, kAtomicEth, Payload::kNone},
    {"SEND_LAST_INV", 22, kReliable, kIeth, Payload::kAny},
    {"SEND_ONLY_INV", 23, kReliable, kIeth, Payload::kAny},
    {"FLUSH", 28, kReliable, kFeth | kReth, Payload::kNone},
    {"ATOMIC_WRITE", 29, kReliable, kReth, Payload::kAny},
});

unsigned bit_of(WireService service) {
  switch (service) {
    case WireService::kRc:
      return kOnRc;
    case WireService::kUc:
      return kOnUc;
    case WireService::kUd:
      return kOnUd;
    case WireService::kXrc:
      return kOnXrc;
  }
  return 0;
}

const Kind* kind_of(const PacketFields& packet) {
  for (const Kind& kind : kKinds) {
    if (kind.operation != packet.operation || (kind.services & bit_of(packet.service)) == 0) continue;
    const bool fits = kind.syndrome < 0 || (packet.syn & kind.syndrome_mask) ==
                                               (static_cast<unsigned>(kind.syndrome) & kind.syndrome_mask);
    if (fits) return &kind;
  }
  return nullptr;
}

unsigned headers_of(const PacketFields& packet) {
  const Kind* kind = kind_of(packet);
  if (kind == nullptr) return kNoHeader;
  // XRCETH stands in every XRC request and in no response, DETH in every datagram.
  const unsigned xrc = packet.service == WireService::kXrc && kind->is_request ? kXrceth : kNoHeader;
  return kind->headers | xrc | (packet.service == WireService::kUd ? kDeth : kNoHeader);
}

/// A number of `bits` bits. It ends `end` bytes after the begin of its header, and `shift` bits above the end
/// of its last byte.
struct Number {
  std::string_view name;
  std::uint64_t PacketFields::*member;
  unsigned header;
  unsigned bits;
  unsigned end;
  unsigned shift = 0;
};

constexpr auto kNumbers = std::to_array<Number>({
    {"se", &PacketFields::se, kBth, 1, 2, 7},
    {"mig", &PacketFields::mig, kBth, 1, 2, 6},
    {"pad", &PacketFields::pad, kBth, 2, 2, 4},
    {"tver", &PacketFields::tver, kBth, 4, 2},
    {"pkey", &PacketFields::pkey, kBth, 16, 4},
    {"fecn", &PacketFields::fecn, kBth, 1, 5, 7},
    {"becn", &PacketFields::becn, kBth, 1, 5, 6},
    {"dst", &PacketFields::dst, kBth, 24, 8},
    {"ackreq", &PacketFields::ackreq, kBth, 1, 9, 7},
    {"psn", &PacketFields::psn, kBth, 24, 12},
    {"srq", &PacketFields::srq, kXrceth, 24, 4},
    {"qkey", &PacketFields::qkey, kDeth, 32, 4},
    {"src", &PacketFields::src, kDeth, 24, 8},
    {"type", &PacketFields::type, kFeth, 4, 4},
    {"sel", &PacketFields::sel, kFeth, 2, 4, 4},
    {"va", &PacketFields::va, kReth, 64, 8},
    {"rkey", &PacketFields::rkey, kReth, 32, 12},
    {"dmalen", &PacketFields::dmalen, kReth, 32, 16},
    {"va", &PacketFields::va, kAtomicEth, 64, 8},
    {"rkey", &PacketFields::rkey, kAtomicEth, 32, 12},
    {"swap", &PacketFields::swap, kAtomicEth, 64, 20},
    {"cmp", &PacketFields::cmp, kAtomicEth, 64, 28},
    {"syn", &PacketFields::syn, kAeth, 8, 1},
    {"msn", &PacketFields::msn, kAeth, 24, 4},
    {"orig", &PacketFields::orig, kAtomicAckEth, 64, 8},
    {"imm", &PacketFields::imm, kImmEth, 32, 4},
    {"inv", &PacketFields::inv, kIeth, 32, 4},
});

constexpr std::array<std::pair<unsigned, std::size_t>, 9> kHeaderBytes = {{{kXrceth, 4},
                                                                           {kDeth, 8},
                                                                           {kFeth, 4},
                                                                           {kReth, 16},
                                                                           {kAtomicEth, 28},
                                                                           {kAeth, 4},
                                                                           {kAtomicAckEth, 8},
                                                                           {kImmEth, 4},
                                                                           {kIeth, 4}}};
constexpr std::size_t kBthBytes = 12;

std::uint64_t mask_of(const Number& number) {
  return number.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << number.bits) - 1;
}

void put(std::span<std::byte> header, const Number& number, std::uint64_t value) {
  value = (value & mask_of(number)) << number.shift;
  for (std::size_t at = number.end; value != 0; value >>= 8) header[--at] |= static_cast<std::byte>(value);
}

std::uint64_t take(std::span<const std::byte> header, const Number& number) {
  const std::size_t bytes = (number.bits + number.shift + 7) / 8;
  std::uint64_t value = 0;
  for (std::size_t at = number.end - bytes; at < number.end; ++at) {
    value = value << 8 | std::to_integer<std::uint64_t>(header[at]);
  }
  return value >> number.shift & mask_of(number);
}

template <typename Bytes, typename Visit>
void for_each_number(unsigned headers, Bytes bytes, const Visit& visit) {
  const auto visit_header = [&](unsigned header, auto at) {
    for (const Number& number : kNumbers) {
      if (number.header == header) visit(at, number);
    }
  };
  visit_header(kBth, bytes.first(kBthBytes));
  bytes = bytes.subspan(kBthBytes);
  for (const auto& [header, size] : kHeaderBytes) {
    if ((headers & header) == 0) continue;
    visit_header(header, bytes.first(size));
    bytes = bytes.subspan(size);
  }
}

std::size_t bytes_of(unsigned headers) {
  std::size_t bytes = kBthBytes;
  for (const auto& [header, size] : kHeaderBytes) {
    if ((headers & header) != 0) bytes += size;
  }
  return bytes;
}

const Number* find_number(const PacketFields& packet, std::string_view field) {
  const unsigned headers = headers_of(packet) | kBth;
  for (const Number& number : kNumbers) {
    if (number.name == field && (headers & number.header) != 0) return &number;
  }
  return nullptr;
}

}  // namespace

std::string readable(std::uint64_t number) {
  return number < 100'000 ? fmt::format("{}", number) : fmt::format("{:#x}", number);
}

std::string_view PacketFields::name() const {
  const Kind* kind = kind_of(*this);
  return kind == nullptr ? "?" : kind->name;
}

bool is_packet_name(std::string_view name) {
  return std::any_of(kKinds.begin(), kKinds.end(), [name](const Kind& kind) { return kind.name == name; });
}

std::optional<PacketFields> named_packet(std::string_view name, WireService service) {
  for (const Kind& kind : kKinds) {
    if (kind.name != name || (kind.services & bit_of(service)) == 0) continue;
    PacketFields packet;
    packet.operation = kind.operation;
    packet.service = service;
    if (kind.syndrome >= 0) packet.syn = static_cast<std::uint64_t>(kind.syndrome);
    return packet;
  }
  return std::nullopt;
}

bool is_packet_number(std::string_view field) {
  return std::any_of(kNumbers.begin(), kNumbers.end(),
                     [field](const Number& number) { return number.name == field; });
}

std::uint64_t most_of_packet_number(std::string_view field) {
  const auto found = std::find_if(kNumbers.begin(), kNumbers.end(),
                                  [&](const Number& number) { return number.name == field; });
  return found == kNumbers.end() ? 0 : mask_of(*found);
}

std::optional<std::uint64_t> packet_number(const PacketFields& packet, std::string_view field) {
  const Number* number = find_number(packet, field);
  if (number == nullptr) return std::nullopt;
  return packet.*number->member;
}

bool set_packet_number(PacketFields& packet, std::string_view field, std::uint64_t value) {
  const Number* number = find_number(packet, field);
  if (number != nullptr) packet.*number->member = value;
  return number != nullptr;
}

bool carries_payload(const PacketFields& packet) {
  const Kind* kind = kind_of(packet);
  return kind != nullptr && kind->payload != Payload::kNone;
}

bool fills_the_path(const PacketFields& packet) {
  const Kind* kind = kind_of(packet);
  return kind != nullptr && kind->payload == Payload::kFull;
}

Octets encode(const PacketFields& packet) {
  const unsigned headers = headers_of(packet);
  Octets bytes(bytes_of(headers));
  bytes[0] = static_cast<std::byte>(static_cast<unsigned>(packet.service) << 5 | (packet.operation & 0x1f));
  for_each_number(
      headers, std::span<std::byte>(bytes),
      [&](std::span<std::byte> header, const Number& number) { put(header, number, packet.*number.member); });
  bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
  bytes.resize(bytes.size() + packet.pad);
  return bytes;
}

Decoded decode(std::span<const std::byte> bytes) {
  Decoded decoded;
  PacketFields& packet = decoded.packet;
  if (bytes.size() < kBthBytes) {
    decoded.fault = "shorter than a BTH";
    return decoded;
  }
  const auto opcode = std::to_integer<unsigned>(bytes[0]);
  packet.operation = opcode & 0x1f;
  packet.service = static_cast<WireService>(opcode >> 5);
  const Kind* kind = kind_of(packet);
  const unsigned headers = headers_of(packet);
  const std::size_t size = bytes_of(headers);
  if (kind == nullptr || bytes.size() < size) {
    decoded.fault = fmt::format("opcode {:#04x} with {} bytes is no packet", opcode, bytes.size());
    return decoded;
  }
  for_each_number(headers, bytes, [&](std::span<const std::byte> header, const Number& number) {
    packet.*number.member = take(header, number);
  });
  // Padding is zero and completes the payload to a multiple of four (fact 3).
  const std::span<const std::byte> rest = bytes.subspan(size);
  if (rest.size() < packet.pad || rest.size() % 4 != 0) {
    decoded.fault = fmt::format("{} bytes after the headers, {} of padding", rest.size(), packet.pad);
    return decoded;
  }
  packet.payload.assign(rest.begin(), rest.end() - static_cast<std::ptrdiff_t>(packet.pad));
  if (encode(packet) != Octets(bytes.begin(), bytes.end())) {
    decoded.fault = "reserved bits or padding are not zero";
  }
  if (kind->payload == Payload::kNone && !packet.payload.empty()) decoded.fault = "has a payload";
  return decoded;
}

std::string describe(const PacketFields& packet) {
  std::string text(packet.name());
  const unsigned headers = headers_of(packet);
  text += fmt::format(" psn={}", readable(packet.psn));
  for (const Number& number : kNumbers) {
    if ((headers & number.header) == 0) continue;
    const bool is_hexadecimal = number.name == "syn" || number.name == "rkey" || number.name == "va";
    text += is_hexadecimal ? fmt::format(" {}={:#x}", number.name, packet.*number.member)
                           : fmt::format(" {}={}", number.name, readable(packet.*number.member));
  }
  if (carries_payload(packet)) text += fmt::format(" len={}", packet.payload.size());
  if (packet.ackreq != 0) text += " ackreq";
  if (packet.se != 0) text += " se";
  return text;
}

std::byte peer_byte(std::uint32_t psn, std::size_t index) {
  return static_cast<std::byte>(0x5a + psn * 37 + index * 11 + (index >> 8) * 53);
}

}  // namespace urnic::scripts
