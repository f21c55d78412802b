// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The work requests that the requester of a direction must have been given, put together from what it sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/conformance/replay/direction.h"

namespace urnic::replay {

/// A work request, as the packets of its message show it. Read from the bytes without the product's parser.
struct Message {
  check::Operation operation = check::Operation::kSend;
  ExtendedPsn first = 0;
  std::int64_t packets = 1;  ///< PSNs that it takes; for a READ its responses' PSNs
  std::uint64_t frame =
      0;                 ///< that shows the earliest of it; 0 for one that the capture does not show at all
  bool is_whole = true;  ///< the capture has every packet of it
  std::vector<std::byte> payload{};  ///< zeros where packets are missing; bytes after its end are not known
  std::uint32_t length = 0;          ///< bytes; of a READ the requested ones
  bool solicited = false;
  std::optional<std::uint32_t> immediate{};   ///< the four bytes as on the wire (network order in memory)
  std::optional<std::uint32_t> invalidate{};  ///< the key that the peer shall take back
  std::uint64_t address = 0;
  std::uint32_t r_key = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  std::uint8_t flush_type = 0;         ///< of FLUSH: bit 0 global visibility, bit 1 persistence
  std::uint8_t flush_selectivity = 0;  ///< of FLUSH: 0 the range, 1 the whole region
  std::uint32_t destination_qp = 0;    ///< of datagrams, as the Q_Key
  std::uint32_t q_key = 0;
  const CapturedPacket* datagram = nullptr;  ///< of datagrams: the packet itself

  ExtendedPsn end() const { return first + packets; }
  /// Whether the peer executes it once a receive is posted.
  bool takes_receive() const { return operation == check::Operation::kSend || immediate.has_value(); }
  /// Whether something with data answers it.
  bool wants_data_back() const;
};

/// Every message of a direction in the order of PSNs. Where the capture never has a packet, something is put
/// that fits: a message of that many packets, not whole. What was begun and not finished at the end is left
/// out, with a note.
std::vector<Message> messages_of(const Direction& direction, std::vector<std::string>& notes);

/// Index of the message that `psn` belongs to, or nothing.
std::optional<std::size_t> find_message(const std::vector<Message>& messages, ExtendedPsn psn);

}  // namespace urnic::replay
