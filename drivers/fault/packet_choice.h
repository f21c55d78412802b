// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PacketChoice: which packets an exact fault is about.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

#include "drivers/fault/packet_field.h"
#include "drivers/fault/packet_history.h"
#include "transport/rc/syndrome.h"
#include "transport/wire/opcode.h"

namespace urnic::drivers {

/// A set of BTH opcodes.
using Opcodes = std::bitset<256>;

/// A packet by all that a choice may ask for.
struct RocePacket {
  Way way{};
  transport::wire::Opcode opcode{};
  std::optional<transport::SyndromeKind> syndrome{};  ///< of an opcode with an AETH
  transport::QpNumber destination_qp{};
  transport::Psn psn{};
  std::optional<PacketHistory::Place> place{};  ///< none: the history is full
};

/// Which packets; what is not said does not matter.
struct PacketChoice {
  Opcodes opcodes = Opcodes().set();
  std::optional<transport::SyndromeKind> syndrome{};
  std::optional<Way> way{};
  std::optional<std::uint32_t> queue_pair{};  ///< PacketHistory::Place::queue_pair
  std::optional<std::int32_t> psn{};          ///< PacketHistory::Place::psn
  std::optional<bool> is_again{};             ///< PacketHistory::Place::is_again

  bool includes(const RocePacket& packet) const;

  /// Narrows the choice to packets of this kind, e.g. "read_response"; false when there is no such kind.
  bool narrow_to_kind(std::string_view name);
  /// Narrows it to an opcode by its name in lower case with '_' for blanks, with or without the service
  /// ("rc_send_middle", "send_middle": this opcode of every service), or by its number ("0x01"); false when
  /// there is none.
  bool narrow_to_opcode(std::string_view name);

  /// Narrows it to a service: rc, uc, ud or xrc; false when there is no such service.
  bool narrow_to_service(std::string_view name);

  /// Narrows it to packets that have the field.
  void narrow_to_field(const PacketField& field);

  /// What narrow_to_kind() takes, for people: "request, response, ...".
  static std::string_view kinds();
};

}  // namespace urnic::drivers
