// Packets of a reliable connection as values, and short names for making them and work requests.
//
// The same functions make what the peer sends and what we expect of ourselves. Numbers of the wire (opcodes,
// syndromes) are written out here on purpose: the tests do not take them from the code they test.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

#include "tests/support/bytes.h"
#include "transport/types.h"
#include "transport/wire/packet.h"
#include "transport/work_request.h"

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
struct RcPacket {
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
  Bytes payload;

  friend bool operator==(const RcPacket&, const RcPacket&) = default;

  RcPacket asking_for_ack(bool yes = true) const;
  RcPacket solicits(bool yes = true) const;
  RcPacket with_length(std::uint32_t reth_length) const;
  RcPacket with_rkey(Rkey other) const;
  RcPacket with_syndrome(std::uint8_t other) const;

  /// As the parser would hand it to queue pair `destination`; the payload is this object's.
  wire::Packet view(QpNumber destination) const;
};

void PrintTo(const RcPacket& packet, std::ostream* out);

/// The printable value of a parsed packet.
RcPacket to_value(const wire::Packet& packet);

/// Where a WRITE or READ goes. By default the memory that the fixture shares with its peer.
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

RcPacket send_first(Psn psn, Bytes payload);
RcPacket send_middle(Psn psn, Bytes payload);
RcPacket send_last(Psn psn, Bytes payload);
RcPacket send_last_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate);
RcPacket send_only(Psn psn, Bytes payload);
RcPacket send_only_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate);

RcPacket write_first(Psn psn, Bytes payload, std::uint32_t message_length, Remote to = kShared);
RcPacket write_middle(Psn psn, Bytes payload);
RcPacket write_last(Psn psn, Bytes payload);
RcPacket write_last_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate);
/// RETH length is the payload's.
RcPacket write_only(Psn psn, Bytes payload, Remote to = kShared);
RcPacket write_only_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate, Remote to = kShared);

RcPacket read_request(Psn psn, std::uint32_t length, Remote from = kShared);

/// A request of any opcode, for what has no name of its own. Asks for an acknowledgement.
RcPacket request(std::uint8_t opcode, Psn psn, Bytes payload = {});

// --- Responses ---

RcPacket read_response_first(Psn psn, Bytes payload, std::uint32_t msn = 1);
RcPacket read_response_middle(Psn psn, Bytes payload);
RcPacket read_response_last(Psn psn, Bytes payload, std::uint32_t msn = 1);
RcPacket read_response_only(Psn psn, Bytes payload, std::uint32_t msn = 1);
RcPacket ack(Psn psn, std::uint32_t msn = 0);
RcPacket nak(Nak nak, Psn psn, std::uint32_t msn = 0);
RcPacket rnr_nak(std::uint8_t timer_code, Psn psn, std::uint32_t msn = 0);

/// The packets of one whole message, cut at `mtu`.
std::vector<RcPacket> send_message(Psn first, const Bytes& message, std::size_t mtu);
std::vector<RcPacket> write_message(Psn first, const Bytes& message, std::size_t mtu, Remote to = kShared);
std::vector<RcPacket> read_responses(Psn first, const Bytes& message, std::size_t mtu, std::uint32_t msn = 1);

/// Packets [from, from + count) of `packets`.
std::vector<RcPacket> slice(const std::vector<RcPacket>& packets, std::size_t from, std::size_t count);

// --- Work requests ---

/// A send work request, signaled unless said otherwise. Without elements or inline data its message is empty.
struct SendWr {
  SendRequest request;
  std::vector<Sge> sges;
  std::optional<Bytes> inline_data;

  SendWr unsignaled() const;
  SendWr solicited() const;
  SendWr fenced() const;
  SendWr with_immediate(std::uint32_t immediate) const;
  SendWr from_elements(std::vector<Sge> elements) const;
  SendWr with_inline(Bytes data) const;
  SendWr to(Remote remote) const;
};

/// Memory of our own: sent from by default, and read into.
inline constexpr std::uint64_t kLocalAddress = 0x10000;
inline constexpr Lkey kLocalKey{0xa0};
/// Memory that posted receives point to.
inline constexpr std::uint64_t kReceiveAddress = 0x30000;
inline constexpr Lkey kReceiveKey{0xc0};

/// `length` bytes at the start of our own memory.
constexpr Sge local(std::uint32_t length, std::uint64_t offset = 0) {
  return {.address = kLocalAddress + offset, .length = length, .lkey = kLocalKey};
}

SendWr send_wr(std::uint64_t wr_id, std::uint32_t length);
SendWr write_wr(std::uint64_t wr_id, std::uint32_t length, Remote to = kShared);
SendWr read_wr(std::uint64_t wr_id, std::uint32_t length, Remote from = kShared);

}  // namespace urnic::transport::test
