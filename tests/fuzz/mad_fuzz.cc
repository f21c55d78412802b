// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: anything that a management datagram might hold, to the connection manager's parser.
//
// The input is the datagram. What parses must be written, and what we write must parse to the same again.
// What does not parse may have a sender who can be told why.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <variant>

#include "nic/cm/message.h"

namespace urnic::nic::cm {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

/// Reserved bytes are not kept, nor are alternate paths, so that the datagram itself may look different.
void check_round_trip(const Mad& mad, std::span<const std::byte> bytes) {
  const auto written = write(mad);
  constexpr std::size_t kIdsFrom = 24;  // every message begins with an ID of the sender
  require(std::equal(bytes.begin() + kIdsFrom, bytes.begin() + kIdsFrom + 4, written.begin() + kIdsFrom),
          "the sender's ID stays");
  constexpr std::size_t kLast = kMadBytes - 4;  // and ends in private data
  require(std::equal(bytes.begin() + kLast, bytes.end(), written.begin() + kLast), "private data stay");
  const auto again = parse(written);
  const Mad* const read = std::get_if<Mad>(&again);
  require(read != nullptr, "what we write can be read");
  require(read->transaction_id == mad.transaction_id, "the transaction ID stays");
  require(read->message.index() == mad.message.index(), "the message stays what it is");
  require(write(*read) == written, "what we write and read says the same");
}

void read(std::span<const std::byte> bytes) {
  const auto parsed = parse(bytes);
  const auto unreadable = unreadable_request(bytes);
  const Mad* const mad = std::get_if<Mad>(&parsed);
  if (mad == nullptr) {
    const MadError error = std::get<MadError>(parsed);
    require(error != MadError::kBadField || unreadable, "the sender of a bad request is told");
    return;
  }
  require(!unreadable, "what can be read is not unreadable");
  if (!std::holds_alternative<AlternatePath>(mad->message)) check_round_trip(*mad, bytes);
}

}  // namespace
}  // namespace urnic::nic::cm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::nic::cm::read(std::as_bytes(std::span(data, size)));
  return 0;
}
