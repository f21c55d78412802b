// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Capture: one file, read and judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/conformance/check/choice.h"
#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/packets/flow_key.h"
#include "tools/conformance/check/port_hints.h"
#include "tools/inspection/view/layouts.h"
#include "tools/inspection/view/pcapng_extras.h"
#include "tools/inspection/view/trace.h"

namespace urnic::view {

/// Which packets of a capture are kept; all of them are judged.
struct Range {
  std::uint64_t skipped = 0;  ///< packets before the first one
  std::uint64_t most = 50'000;
  const check::FlowSet* shown = nullptr;  ///< packets of these flows alone; null: of all
  check::UdpPorts udp_ports{};            ///< that carry RoCEv2 beside 4791
};

/// The queue pair that sends a flow's packets, where it is known.
using Senders = std::unordered_map<check::FlowKey, std::uint32_t, check::FlowKeyHash>;

struct Capture {
  TraceFile file{};
  std::vector<Packet> packets{};  ///< each with one sighting
  std::uint64_t omitted = 0;
  Senders senders{};  ///< as answers tell, or datagrams
  std::unordered_map<check::FlowKey, const char*, check::FlowKeyHash> services{};
  std::vector<Note> notes{};
  std::vector<check::Finding> findings{};
  std::string sightings{};  ///< lines about tunnels, copies and what could not be looked into
};

/// Adds the flows of the capture at `path` that `choice` takes. What cannot be read has none.
void add_chosen_flows(const std::string& path, const check::Choice& choice, const check::UdpPorts& udp_ports,
                      check::FlowSet& chosen);

/// Reads the capture. `number` is its index among the trace's files. Nothing when it cannot be opened; then
/// `why` says so in one line.
std::optional<Capture> read_capture(const std::string& path, std::uint32_t number, const Range& range,
                                    Layouts& layouts, std::string& why);

}  // namespace urnic::view
