// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PacketField: a field of a RoCEv2 packet's headers by name, for faults that rewrite it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "transport/wire/opcode.h"

namespace urnic::drivers {

/// A row of the table of fields.
struct PacketField {
  std::string_view name;  ///< "bth.psn"
  /// The extended header that it is in, or Headers::kNone for the BTH.
  transport::wire::Headers header;
  std::uint16_t first_bit;  ///< from the header's beginning
  std::uint8_t bits;        ///< 1 to 64

  /// Whether a value has no more bits than the field.
  bool has_room_for(std::uint64_t value) const { return bits == 64 || value >> bits == 0; }
};

/// Null when there is none of this name.
const PacketField* find_packet_field(std::string_view name);
/// All names, for people: "bth.opcode, bth.se, ...".
std::string packet_field_names();

/// Whether packets of this opcode have the field.
bool has_packet_field(const PacketField& field, transport::wire::Opcode opcode);

/// Writes `value` into the field of a packet that begins with its BTH. False, and nothing is written, when
/// the packet has no such header, by its opcode or by its length.
bool write_packet_field(const PacketField& field, std::uint64_t value, std::span<std::byte> packet);

}  // namespace urnic::drivers
