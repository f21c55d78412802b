// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/packet_field.h"

#include <algorithm>
#include <array>

#include "transport/wire/byte_order.h"
#include "transport/wire/headers.h"

namespace urnic::drivers {
namespace {

using transport::wire::Headers;
using transport::wire::Opcode;

// clang-format off
constexpr auto kFields = std::to_array<PacketField>({
    {"bth.opcode",        Headers::kNone,         0,   8},
    {"bth.se",            Headers::kNone,         8,   1},
    {"bth.migreq",        Headers::kNone,         9,   1},
    {"bth.pad",           Headers::kNone,         10,  2},
    {"bth.tver",          Headers::kNone,         12,  4},
    {"bth.pkey",          Headers::kNone,         16,  16},
    {"bth.fecn",          Headers::kNone,         32,  1},
    {"bth.becn",          Headers::kNone,         33,  1},
    {"bth.qp",            Headers::kNone,         40,  24},
    {"bth.ackreq",        Headers::kNone,         64,  1},
    {"bth.psn",           Headers::kNone,         72,  24},
    {"xrceth.srq",        Headers::kXrceth,       8,   24},
    {"deth.qkey",         Headers::kDeth,         0,   32},
    {"deth.srcqp",        Headers::kDeth,         40,  24},
    {"reth.va",           Headers::kReth,         0,   64},
    {"reth.rkey",         Headers::kReth,         64,  32},
    {"reth.length",       Headers::kReth,         96,  32},
    {"atomiceth.va",      Headers::kAtomicEth,    0,   64},
    {"atomiceth.rkey",    Headers::kAtomicEth,    64,  32},
    {"atomiceth.swap",    Headers::kAtomicEth,    96,  64},
    {"atomiceth.compare", Headers::kAtomicEth,    160, 64},
    {"aeth.syndrome",     Headers::kAeth,         0,   8},
    {"aeth.msn",          Headers::kAeth,         8,   24},
    {"atomicack.value",   Headers::kAtomicAckEth, 0,   64},
    {"immdt.value",       Headers::kImmediate,    0,   32},
    {"ieth.rkey",         Headers::kIeth,         0,   32},
});
// clang-format on

/// Where the header of a field begins in packets of this opcode, in bytes; none if they lack it.
std::optional<std::size_t> place_of(Headers header, Opcode opcode) {
  if (header == Headers::kNone) return 0;
  const Headers present = info(opcode).headers;
  if (!has(present, header)) return std::nullopt;
  return transport::wire::Bth::kBytes + transport::wire::bytes_before(header, present);
}

}  // namespace

const PacketField* find_packet_field(std::string_view name) {
  const auto* const row = std::find_if(kFields.begin(), kFields.end(),
                                       [&](const PacketField& field) { return field.name == name; });
  return row != kFields.end() ? row : nullptr;
}

std::string packet_field_names() {
  std::string names;
  for (const PacketField& field : kFields) names.append(names.empty() ? "" : ", ").append(field.name);
  return names;
}

bool has_packet_field(const PacketField& field, Opcode opcode) {
  return place_of(field.header, opcode).has_value();
}

bool write_packet_field(const PacketField& field, std::uint64_t value, std::span<std::byte> packet) {
  if (packet.size() < transport::wire::Bth::kBytes) return false;
  const auto begin = place_of(field.header, static_cast<Opcode>(transport::wire::load_u8(packet, 0)));
  if (!begin || packet.size() < *begin + (field.first_bit + field.bits + 7u) / 8) return false;
  // From the last bit of the field on, which is the lowest of the value.
  for (unsigned bit = 0; bit < field.bits; ++bit) {
    const std::size_t at = 8 * *begin + field.first_bit + field.bits - 1u - bit;
    const std::byte mask = std::byte{0x80} >> (at % 8);
    std::byte& octet = packet[at / 8];
    octet = (value >> bit & 1u) != 0 ? octet | mask : octet & ~mask;
  }
  return true;
}

}  // namespace urnic::drivers
