// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: what `urnic conform` hears. The first byte says which: 'p' a packet with a message of the
// connection manager, from the BTH on; anything else a line of the agent or the listener.
//
// A message is told to the peer under other numbers, and read as it was written. A line that is taken for a
// reply is one.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "tools/conformance/conform/agent/agent_reply.h"
#include "tools/conformance/conform/connections/aliases.h"
#include "tools/conformance/conform/connections/mad_packet.h"
#include "tools/conformance/conform/connections/program.h"

namespace urnic::conform::connections {
namespace {

using scripts::connections::Mad;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

void try_packet(std::span<const std::byte> bytes) {
  const auto heard = read_mad_packet(bytes);
  if (!heard) return;
  const auto again = read_mad_packet(make_mad_packet(heard->mad.bytes(), 1));
  require(again && again->mad == heard->mad && again->fault.empty(), "a message is written as it was read");
  require(!heard->mad.describe().empty(), "a message is shown");
  heard->mad.fault();
  const Aliases aliases(static_cast<unsigned>(bytes.size()), 0xaa);
  const Mad told = aliases.as_peer_has_it(heard->mad);
  require(told.name() == heard->mad.name(), "the peer is told a message of the same name");
  const auto known = aliases.as_script_has_it(heard->mad);
  require(!known || known->name() == heard->mad.name(), "a script has a message of the same name");
}

void try_line(std::string_view line) {
  const auto reply = parse_reply(line);
  if (!reply) return;
  require(reply->is_ok || reply->words.empty(), "an error has no words");
  errno_of(*reply);
  const auto event = event_of(*reply);
  if (!event) return;
  require(reply->is_ok && !event->name.empty(), "an event is a reply that is ok");
  require(!describe(*event).empty(), "an event is shown");
}

}  // namespace
}  // namespace urnic::conform::connections

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace urnic::conform::connections;
  if (size == 0) return 0;
  if (data[0] == 'p') {
    try_packet(std::as_bytes(std::span(data, size).subspan(1)));
  } else {
    try_line({reinterpret_cast<const char*>(data), size});
  }
  return 0;
}
