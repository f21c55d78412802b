// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Packets of queue pairs as values, and short names for the packets of a reliable connection.
//
// The same functions make what the peer sends and what we expect of ourselves. Numbers of the wire (opcodes,
// syndromes) are written out here on purpose: the tests do not take them from the code they test.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <vector>

#include "tests/support/bytes.h"
#include "transport/types.h"
#include "transport/wire/packet.h"

namespace urnic::transport {

/// For GoogleTest's messages.
void PrintTo(Psn psn, std::ostream* out);

}  // namespace urnic::transport

namespace urnic::transport::test {

/// NAK syndromes (fact 19).
enum class Nak : std::uint8_t {
  kSequenceError = 0x60,
  kInvalidRequest = 0x61,
  kRemoteAccess = 0x62,
  kRemoteOperation = 0x63,
};

/// The syndrome of an ACK that says nothing about credits (fact 19).
inline constexpr std::uint8_t kAckSyndrome = 0x1f;

/// A packet that owns its payload. Fields of headers that its opcode does not have are zero.
struct QpPacket {
  wire::Opcode opcode{};
  Psn psn;
  bool ack_request = false;
  bool solicited = false;
  std::uint64_t address = 0;  ///< RETH
  Rkey rkey{};                ///< RETH
  std::uint32_t length = 0;   ///< RETH
  std::uint8_t syndrome = 0;  ///< AETH
  std::uint32_t msn = 0;      ///< AETH
  std::uint32_t immediate = 0;
  std::uint32_t qkey = 0;     ///< DETH
  QpNumber source_qp{};       ///< DETH
  QpNumber destination_qp{};  ///< of a datagram that was sent; all others go to the one peer
  Bytes payload;

  friend bool operator==(const QpPacket&, const QpPacket&) = default;

  QpPacket asking_for_ack(bool yes = true) const;
  QpPacket solicits(bool yes = true) const;
  QpPacket with_length(std::uint32_t reth_length) const;
  QpPacket with_rkey(Rkey other) const;
  QpPacket with_syndrome(std::uint8_t other) const;
  QpPacket with_qkey(std::uint32_t other) const;
  /// The same packet with an immediate: its opcode is the next one.
  QpPacket with_immediate(std::uint32_t value) const;

  /// As the parser would hand it to queue pair `destination`; the payload is this object's.
  wire::Packet view(QpNumber destination) const;
};

void PrintTo(const QpPacket& packet, std::ostream* out);

/// The printable value of a parsed packet.
QpPacket to_value(const wire::Packet& packet);

/// The packet as an unreliable connection sends it: the service's bits in the opcode, and no acknowledgement
/// asked for (fact 18).
QpPacket as_uc(QpPacket packet);
std::vector<QpPacket> as_uc(std::vector<QpPacket> packets);

/// Where a WRITE or READ goes. By default the memory that the rig shares with its peer.
struct Remote {
  std::uint64_t address = 0;
  Rkey rkey{};
};
inline constexpr Remote kShared{.address = 0x20000, .rkey = Rkey{0xb0}};

constexpr Remote operator+(Remote remote, std::uint64_t bytes) {
  remote.address += bytes;
  return remote;
}

// --- Requests. As rxe does, the packet that ends a message asks for an acknowledgement (fact 18). ---

QpPacket send_first(Psn psn, Bytes payload);
QpPacket send_middle(Psn psn, Bytes payload);
QpPacket send_last(Psn psn, Bytes payload);
QpPacket send_last_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate);
QpPacket send_only(Psn psn, Bytes payload);
QpPacket send_only_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate);

QpPacket write_first(Psn psn, Bytes payload, std::uint32_t message_length, Remote to = kShared);
QpPacket write_middle(Psn psn, Bytes payload);
QpPacket write_last(Psn psn, Bytes payload);
QpPacket write_last_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate);
/// RETH length is the payload's.
QpPacket write_only(Psn psn, Bytes payload, Remote to = kShared);
QpPacket write_only_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate, Remote to = kShared);

QpPacket read_request(Psn psn, std::uint32_t length, Remote from = kShared);

/// A request of any opcode, for what has no name of its own. Asks for an acknowledgement.
QpPacket request(std::uint8_t opcode, Psn psn, Bytes payload = {});

// --- Responses ---

QpPacket read_response_first(Psn psn, Bytes payload, std::uint32_t msn = 1);
QpPacket read_response_middle(Psn psn, Bytes payload);
QpPacket read_response_last(Psn psn, Bytes payload, std::uint32_t msn = 1);
QpPacket read_response_only(Psn psn, Bytes payload, std::uint32_t msn = 1);
QpPacket ack(Psn psn, std::uint32_t msn = 0);
QpPacket nak(Nak nak, Psn psn, std::uint32_t msn = 0);
QpPacket rnr_nak(std::uint8_t timer_code, Psn psn, std::uint32_t msn = 0);
/// `held`: PSNs after `expected`, by less than 2^24.
QpPacket selective_nak(Psn expected, std::initializer_list<std::uint32_t> held, std::uint32_t msn = 0);

/// The packets of one whole message, cut at `mtu`.
std::vector<QpPacket> send_message(Psn first, const Bytes& message, std::size_t mtu);
std::vector<QpPacket> write_message(Psn first, const Bytes& message, std::size_t mtu, Remote to = kShared);
std::vector<QpPacket> read_responses(Psn first, const Bytes& message, std::size_t mtu, std::uint32_t msn = 1);

/// Packets of one message, one after the other, as a run (transport/wire/run.h).
QpPacket joined(const std::vector<QpPacket>& packets);

/// Packets [from, from + count) of `packets`.
std::vector<QpPacket> slice(const std::vector<QpPacket>& packets, std::size_t from, std::size_t count);

}  // namespace urnic::transport::test
