// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/packet_choice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string>

namespace urnic::drivers {
namespace {

using transport::SyndromeKind;
using transport::wire::info;
using transport::wire::Opcode;
using transport::wire::OpcodeInfo;
using transport::wire::Operation;

constexpr std::size_t kOpcodes = Opcodes().size();

/// A word for packets: an opcode belongs to it by its row of the table, an acknowledgement by its syndrome as
/// well.
struct Kind {
  std::string_view name;
  bool (*includes)(const OpcodeInfo& row);
  std::optional<SyndromeKind> syndrome{};
};

template <Operation... kOperations>
bool is_any_of(const OpcodeInfo& row) {
  return ((row.operation == kOperations) || ...);
}

constexpr auto kKinds = std::to_array<Kind>({
    {"request", [](const OpcodeInfo& row) { return row.is_request; }},
    {"response",
     [](const OpcodeInfo& row) {
       return !row.is_request && row.operation != Operation::kCongestionNotification;
     }},
    {"send", is_any_of<Operation::kSend>},
    {"write", is_any_of<Operation::kWrite>},
    {"read", is_any_of<Operation::kReadRequest>},
    {"atomic", is_any_of<Operation::kCompareSwap, Operation::kFetchAdd, Operation::kAtomicWrite>},
    {"ack", is_any_of<Operation::kAcknowledge>, SyndromeKind::kAcknowledge},
    {"nak", is_any_of<Operation::kAcknowledge>, SyndromeKind::kNak},
    {"rnr", is_any_of<Operation::kAcknowledge>, SyndromeKind::kRnrNak},
    {"read_response", is_any_of<Operation::kReadResponse>},
    {"atomic_response", is_any_of<Operation::kAtomicAcknowledge>},
    {"cnp", is_any_of<Operation::kCongestionNotification>},
});

constexpr std::string_view kKindNames =
    "request, response, send, write, read, atomic, ack, nak, rnr, read_response, atomic_response, cnp";

/// "RC SEND Last with Immediate" as it is written in a fault: "rc_send_last_with_immediate".
std::string written(std::string_view name) {
  std::string result(name);
  std::transform(result.begin(), result.end(), result.begin(), [](char letter) {
    if (letter == ' ') return '_';
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return result;
}

/// Whether `name` is the opcode's name, with or without its service.
bool is_called(std::string_view opcode, std::string_view name) {
  const std::size_t service = opcode.find('_');
  return opcode == name || (service != std::string_view::npos && opcode.substr(service + 1) == name);
}

template <typename Includes>
Opcodes opcodes_that(Includes includes) {
  Opcodes result;
  for (std::size_t code = 0; code < kOpcodes; ++code) {
    const OpcodeInfo& row = info(static_cast<Opcode>(code));
    if (row.exists() && includes(row)) result.set(code);
  }
  return result;
}

std::optional<std::size_t> number_of(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  std::size_t number = 0;
  const auto [stop, error] = std::from_chars(text.data() + 2, text.data() + text.size(), number, 16);
  if (error != std::errc{} || stop != text.data() + text.size() || number >= kOpcodes) return std::nullopt;
  return number;
}

/// Whether a packet has the wanted value, if one is wanted.
template <typename Value>
bool fits(const std::optional<Value>& wanted, const Value& is) {
  return !wanted || *wanted == is;
}

}  // namespace

bool PacketChoice::includes(const RocePacket& packet) const {
  if (!opcodes.test(transport::to_integer(packet.opcode))) return false;
  if (syndrome && packet.syndrome != syndrome) return false;
  if (!fits(way, packet.way)) return false;
  if (!queue_pair && !psn && !is_again) return true;
  return packet.place && fits(queue_pair, packet.place->queue_pair) && (!psn || psn == packet.place->psn) &&
         fits(is_again, packet.place->is_again);
}

bool PacketChoice::narrow_to_kind(std::string_view name) {
  const auto* const kind =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& row) { return row.name == name; });
  if (kind == kKinds.end()) return false;
  opcodes &= opcodes_that(kind->includes);
  syndrome = kind->syndrome;
  return true;
}

bool PacketChoice::narrow_to_opcode(std::string_view name) {
  Opcodes chosen;
  if (const auto number = number_of(name)) {
    chosen.set(*number);
  } else {
    chosen = opcodes_that([&](const OpcodeInfo& row) { return is_called(written(row.name), name); });
  }
  opcodes &= chosen;
  return chosen.any();
}

bool PacketChoice::narrow_to_service(std::string_view name) {
  using transport::wire::Service;
  static constexpr std::pair<std::string_view, Service> kServices[] = {
      {"rc", Service::kRc}, {"uc", Service::kUc}, {"ud", Service::kUd}, {"xrc", Service::kXrc}};
  for (const auto& [known, service] : kServices) {
    if (known != name) continue;
    for (std::size_t code = 0; code < kOpcodes; ++code) {
      if (transport::wire::service(static_cast<Opcode>(code)) != service) opcodes.reset(code);
    }
    return true;
  }
  return false;
}

void PacketChoice::narrow_to_field(const PacketField& field) {
  for (std::size_t code = 0; code < kOpcodes; ++code) {
    if (!has_packet_field(field, static_cast<Opcode>(code))) opcodes.reset(code);
  }
}

std::string_view PacketChoice::kinds() {
  return kKindNames;
}

}  // namespace urnic::drivers
