// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/view/trace_builder.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tools/inspection/view/ends.h"
#include "tools/inspection/view/links.h"
#include "tools/inspection/view/sightings.h"

namespace urnic::view {
namespace {

/// What counters of frames that were not taken begin with (drivers/pcap/RECORDING.md).
constexpr std::string_view kDropCounters = "rx_drop_";

/// The packet that a frame of a file is.
using FramePlaces = std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t>;

FramePlaces places_of(const std::vector<Packet>& packets) {
  FramePlaces places;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    for (const Sighting& seen : packets[i].seen) places[{seen.file, seen.frame}] = i;
  }
  return places;
}

void mark_lost_and_dropped(const std::vector<std::int64_t>& last_ns, Trace& trace) {
  for (Packet& packet : trace.packets) {
    packet.is_dropped = std::ranges::any_of(packet.seen, [](const Sighting& seen) {
      return seen.way == Way::kReceived && seen.comment.find(kDropCounters) != std::string::npos;
    });
    const Sighting& first = packet.seen.front();
    if (packet.seen.size() > 1 || first.way != Way::kSent || !packet.connection) continue;
    const auto receiver = trace.connections[*packet.connection].ends[1 - packet.from].file;
    // What is sent when the receiver's recording has ended may have come.
    packet.is_lost = receiver && *receiver != first.file && first.time_ns < last_ns[*receiver];
  }
}

/// Of a file of which only a part is shown, notes about the queue pairs of others are left out.
void add_notes(const FramePlaces& places, std::uint32_t file, std::vector<Note>& notes, bool is_part,
               Trace& trace) {
  std::map<std::uint32_t, std::pair<std::size_t, unsigned>> ends;  // by queue pair
  for (std::size_t i = 0; i < trace.connections.size(); ++i) {
    for (const unsigned end : {0u, 1u}) {
      const End& candidate = trace.connections[i].ends[end];
      if (candidate.file == file && candidate.qp) ends.emplace(*candidate.qp, std::pair(i, end));
    }
  }
  for (Note& note : notes) {
    TraceNote result{.file = file, .time_ns = note["time_ns"].get<std::int64_t>()};
    const auto number = note.find("qp");
    const auto end = number != note.end() && number->is_number_unsigned()
                         ? ends.find(number->get<std::uint32_t>())
                         : ends.end();
    if (is_part && number != note.end() && end == ends.end()) continue;
    if (end != ends.end()) std::tie(result.connection, result.end) = end->second;
    const auto frame = note.find("frame");
    if (frame != note.end() && frame->is_number_unsigned()) {
      const auto place = places.find({file, frame->get<std::uint64_t>()});
      if (place != places.end()) result.packet = place->second;
    }
    result.note = std::move(note);
    trace.notes.push_back(std::move(result));
  }
}

void add_findings(const FramePlaces& places, std::uint32_t file, const std::vector<check::Finding>& findings,
                  Trace& trace) {
  for (const check::Finding& finding : findings) {
    TraceFinding result{.file = file,
                        .rule = finding.rule,
                        .severity = finding.severity,
                        .expected = finding.expected,
                        .seen = finding.seen};
    for (const std::uint64_t frame : finding.frames) {
      const auto place = places.find({file, frame});
      if (place != places.end()) result.packets.push_back(place->second);
    }
    trace.findings.push_back(std::move(result));
  }
}

}  // namespace

Trace build_trace(std::vector<Capture> captures) {
  Trace trace;
  std::vector<std::int64_t> last_ns;
  for (Capture& capture : captures) {
    trace.omitted += capture.omitted;
    last_ns.push_back(capture.packets.empty() ? 0 : capture.packets.back().time_ns());
  }
  trace.packets = unite(captures);
  find_ends(captures, trace);
  link_packets(trace);
  mark_lost_and_dropped(last_ns, trace);
  const FramePlaces places = places_of(trace.packets);
  for (std::uint32_t file = 0; file < captures.size(); ++file) {
    add_notes(places, file, captures[file].notes, captures[file].file.is_part, trace);
    add_findings(places, file, captures[file].findings, trace);
    trace.files.push_back(std::move(captures[file].file));
  }
  std::ranges::stable_sort(trace.notes, {}, &TraceNote::time_ns);
  return trace;
}

}  // namespace urnic::view
