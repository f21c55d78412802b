// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Trace: what several captures show of one conversation, put together.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/conformance/check/findings/rule.h"
#include "tools/conformance/check/packets/flow_key.h"
#include "tools/inspection/view/pcapng_extras.h"

namespace urnic::view {

/// A frame of a capture. Times are nanoseconds since 1970.
struct Sighting {
  std::uint32_t file = 0;
  std::uint64_t frame = 0;  ///< from 1, as Wireshark counts
  std::int64_t time_ns = 0;
  Way way = Way::kUnknown;
  std::string comment{};
};

enum class Kind : std::uint8_t { kRequest, kResponse, kAck, kNak, kRnr, kCnp, kCm, kDatagram, kOther };

/// A packet that one capture saw, or the captures of both ends.
struct Packet {
  std::vector<Sighting> seen{};  ///< the sender's first
  check::FlowKey flow{};
  std::uint32_t digest = 0;  ///< of all that its sender wrote from the BTH on, without the ICRC
  std::uint8_t opcode = 0;
  Kind kind = Kind::kOther;
  std::string label{};
  std::uint32_t psn = 0;
  std::optional<std::uint32_t> msn{};
  std::uint64_t payload_bytes = 0;
  std::uint64_t wire_bytes = 0;  ///< of the whole frame
  bool has_bad_icrc = false;
  std::size_t layout = 0;  ///< of its headers
  std::string headers{};   ///< as far as captured
  std::string icrc{};      ///< empty where it was cut off

  // What the others tell of it; indices of packets.
  std::optional<std::size_t> connection{};
  unsigned from = 0;  ///< which end of the connection
  bool is_lost = false;
  bool is_dropped = false;
  std::optional<std::size_t> request{};
  std::vector<std::size_t> answers{};
  std::optional<std::size_t> repeats{};
  std::vector<std::size_t> repeated_by{};

  std::int64_t time_ns() const { return seen.front().time_ns; }
};

struct End {
  check::Address address{};
  std::optional<std::uint32_t> qp{};
  std::optional<std::uint32_t> file{};  ///< the recording of its NIC
  friend bool operator==(const End& a, const End& b) { return a.address == b.address && a.qp == b.qp; }
};

struct Connection {
  const char* service = "other";
  std::array<End, 2> ends{};
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  ///< of payload
};

struct TraceNote {
  std::uint32_t file = 0;
  std::int64_t time_ns = 0;
  std::optional<std::size_t> packet{};
  std::optional<std::size_t> connection{};
  unsigned end = 0;
  Note note{};
};

struct TraceFinding {
  std::uint32_t file = 0;
  check::Rule rule{};
  check::Severity severity{};
  std::string expected{};
  std::string seen{};
  std::vector<std::size_t> packets{};
};

struct TraceFile {
  std::string name{};
  std::uint64_t frames = 0;
  std::string program{};
  std::string interface {};
  bool has_notes = false;
  bool is_part = false;  ///< the user chose some connections; what the others have is counted:
  std::uint64_t other_connections = 0;
  std::uint64_t other_packets = 0;
  std::uint64_t other_findings = 0;
  std::string error{};  ///< why it was not read to its end
};

struct Trace {
  std::vector<TraceFile> files{};
  std::vector<Connection> connections{};
  std::vector<Packet> packets{};  ///< by time
  std::vector<TraceNote> notes{};
  std::vector<TraceFinding> findings{};
  std::uint64_t omitted = 0;  ///< packets that were read, and are not here
};

}  // namespace urnic::view
