// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Packets as the scripts write them, and their bytes.
//
// Nothing here uses transport/wire: the offsets were written down a second time, from transport/FACTS.md, so
// that a header misread there does not confirm itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/conformance/script/script.h"

namespace urnic::scripts {

/// The top three bits of an opcode.
enum class WireService : std::uint8_t { kRc = 0, kUc = 1, kUd = 3, kXrc = 5 };

/// A packet with every field that it may have, all numbers in host order.
struct PacketFields {
  std::uint64_t operation = 0;  ///< the low five bits of the opcode
  WireService service = WireService::kRc;
  std::uint64_t se = 0;
  std::uint64_t mig = 1;
  std::uint64_t pad = 0;
  std::uint64_t tver = 0;
  std::uint64_t pkey = 0xffff;
  std::uint64_t fecn = 0;
  std::uint64_t becn = 0;
  std::uint64_t dst = 0;
  std::uint64_t ackreq = 0;
  std::uint64_t psn = 0;
  std::uint64_t srq = 0;
  std::uint64_t qkey = 0;
  std::uint64_t src = 0;
  std::uint64_t type = 0;
  std::uint64_t sel = 0;
  std::uint64_t va = 0;
  std::uint64_t rkey = 0;
  std::uint64_t dmalen = 0;
  std::uint64_t swap = 0;  ///< of FETCH_ADD: what is added
  std::uint64_t cmp = 0;
  std::uint64_t syn = 0x1f;
  std::uint64_t msn = 0;
  std::uint64_t orig = 0;
  std::uint64_t imm = 0;
  std::uint64_t inv = 0;
  Octets payload;

  std::string_view name() const;  ///< SEND_ONLY, NAK_SEQUENCE; "?" for no opcode of this service
};

/// Whether there is a packet of this name, in any service.
bool is_packet_name(std::string_view name);

/// The packet called `name`, with a syndrome if the name says one, and everything else at its default;
/// nothing if `service` has no such packet.
std::optional<PacketFields> named_packet(std::string_view name, WireService service);

/// A name that script lines may give a number of a packet, e.g. "psn".
bool is_packet_number(std::string_view field);
/// The most that fits into it.
std::uint64_t most_of_packet_number(std::string_view field);
/// The number, or nothing if the packet has no header with it.
std::optional<std::uint64_t> packet_number(const PacketFields& packet, std::string_view field);
/// False if the packet has no header with it.
bool set_packet_number(PacketFields& packet, std::string_view field, std::uint64_t value);

/// Whether payload may follow, and whether it is a whole path MTU because more packets follow.
bool carries_payload(const PacketFields& packet);
bool fills_the_path(const PacketFields& packet);

/// BTH up to the padding; `pad` zeros follow the payload.
Octets encode(const PacketFields& packet);

/// A packet that the transport wrote, or why this is none.
struct Decoded {
  PacketFields packet;
  std::string fault;  ///< empty, or what no packet may have: a short header, wrong padding, reserved bits
};
Decoded decode(std::span<const std::byte> bytes);

/// Decimal if it is short, else hexadecimal.
std::string readable(std::uint64_t number);

/// One line: the name, the fields of its headers, flags that are set.
std::string describe(const PacketFields& packet);

/// What the peer's packet with this PSN carries at `index`, unless a script says otherwise.
std::byte peer_byte(std::uint32_t psn, std::size_t index);

}  // namespace urnic::scripts
