// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/view/capture.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <utility>

#include "tools/conformance/check/capture_reader.h"
#include "tools/conformance/check/checker.h"
#include "tools/conformance/check/cm/message.h"
#include "tools/conformance/check/mirror_scout.h"
#include "tools/conformance/check/packets/icrc.h"
#include "tools/conformance/check/packets/opcode.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::view {
namespace {

using check::Operation;
using check::Service;

constexpr unsigned kSyndromeClass = 5;  // the upper three bits (fact 17)
constexpr unsigned kRnrNak = 1;
constexpr unsigned kNak = 3;

Kind kind_of(const check::Packet& packet) {
  const check::OpcodeInfo& info = *packet.info;
  if (info.service == Service::kCnp) return Kind::kCnp;
  if (check::is_cm(packet)) return Kind::kCm;
  if (info.service == Service::kUd) return Kind::kDatagram;
  if (!info.is_known()) return Kind::kOther;
  if (!info.is_acknowledge()) return info.is_response() ? Kind::kResponse : Kind::kRequest;
  switch (packet.syndrome >> kSyndromeClass) {
    case kRnrNak:
      return Kind::kRnr;
    case kNak:
      return Kind::kNak;
    default:
      return Kind::kAck;
  }
}

std::string label_of(const check::Packet& packet) {
  if (packet.info->operation == Operation::kAcknowledge) return check::describe_syndrome(packet.syndrome);
  if (const auto message = check::parse_cm(packet)) return check::to_string(message->kind);
  std::string name = check::name_of(packet.opcode);
  const std::string service = std::string(check::to_string(packet.info->service)) + " ";
  return name.starts_with(service) ? name.substr(service.size()) : name;
}

std::string text_of(check::ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads frames into a capture.
class Loader {
 public:
  Loader(Capture& capture, std::uint32_t number, const Range& range, Layouts& layouts)
      : capture_(capture), number_(number), range_(range), layouts_(layouts) {}

  /// Takes the packet of a frame, which is null if there is none.
  void take(const check::Unwrapped* found, const check::RawFrame& raw, const PcapngExtras& extras) {
    const check::Frame* const frame = found == nullptr ? nullptr : &*found->frame;
    if (frame == nullptr || frame->fault != check::FrameFault::kNone || frame->ib.size() < check::kBthBytes) {
      return;
    }
    const check::Packet packet = check::parse_packet(*frame);
    if (packet.fault != check::PacketFault::kNone) return;
    const check::FlowKey flow{frame->source, frame->destination, packet.destination_qp};
    if (range_.shown != nullptr && !range_.shown->contains(flow)) return;
    ++packets_;
    if (packets_ <= range_.skipped || capture_.packets.size() >= range_.most) {
      ++capture_.omitted;
      return;
    }
    capture_.packets.push_back(packet_of(*found, packet, raw));
    const auto extra = extras.frames.find(raw.number);
    if (extra == extras.frames.end()) return;
    Sighting& seen = capture_.packets.back().seen.front();
    seen.way = extra->second.way;
    seen.comment = extra->second.comment;
  }

 private:
  Packet packet_of(const check::Unwrapped& found, const check::Packet& packet, const check::RawFrame& raw) {
    const check::Frame& frame = *found.frame;
    const auto ip_at = static_cast<std::size_t>(frame.ip_header.data() - found.bytes.data());
    const auto icrc = check::judge_icrc(frame);
    Packet result{.seen = {{.file = number_, .frame = raw.number, .time_ns = raw.time_ns}},
                  .flow = {.source = frame.source,
                           .destination = frame.destination,
                           .destination_qp = packet.destination_qp},
                  .opcode = packet.opcode,
                  .kind = kind_of(packet),
                  .label = label_of(packet),
                  .psn = packet.psn.value(),
                  .payload_bytes = packet.payload_bytes,
                  .wire_bytes = raw.wire_bytes,
                  .has_bad_icrc = icrc && !icrc->is_right(),
                  .layout = layouts_.index_of(frame, packet, found.layers, ip_at)};
    if (packet.info->has_aeth) result.msn = packet.msn;
    const std::size_t whole = frame.is_cut() ? 0 : check::kIcrcBytes;
    result.digest = check::digest_of(frame.ib.first(frame.ib.size() - whole));
    if (whole != 0) result.icrc = text_of(frame.ib.last(whole));
    const PlacedHeader& last = layouts_.all()[result.layout].back();
    result.headers = text_of(found.bytes.first(std::min(found.bytes.size(), last.at + last.header->bytes)));
    return result;
  }

  Capture& capture_;
  std::uint32_t number_;
  Range range_;
  Layouts& layouts_;
  std::uint64_t packets_ = 0;
};

/// Takes the service of each flow, and its sender's queue pair: answers name it, and so do datagrams
/// themselves.
void take_flows(const check::Connections& connections, Capture& capture) {
  for (const check::Flow& flow : connections.flows()) {
    capture.services.emplace(
        flow.key, flow.key.destination_qp == check::kGsiQp ? "CM" : check::to_string(flow.service));
    if (flow.peer) {
      capture.senders.emplace(flow.key, connections.flows()[*flow.peer].key.destination_qp);
    } else if (flow.service == Service::kUd) {
      capture.senders.emplace(flow.key, flow.source_qp);
    }
  }
}

}  // namespace

void add_chosen_flows(const std::string& path, const check::Choice& choice, const check::UdpPorts& udp_ports,
                      check::FlowSet& chosen) {
  std::string why;
  auto reader = check::CaptureReader::open(path, why);
  if (!reader) return;
  check::Checker checker({.udp_ports = udp_ports, .is_mirrored = check::has_doubled_frames(path, udp_ports)});
  while (const auto frame = reader->next()) checker.add(frame->link_type, *frame);
  check::add_chosen_flows(checker.connections(), choice, chosen);
}

std::optional<Capture> read_capture(const std::string& path, std::uint32_t number, const Range& range,
                                    Layouts& layouts, std::string& why) {
  auto reader = check::CaptureReader::open(path, why);
  if (!reader) return std::nullopt;
  std::ifstream beside(path, std::ios::binary);
  PcapngExtras extras = read_pcapng_extras(beside);
  Capture capture;
  check::Checker checker({.keeping = {.shown = range.shown},
                          .udp_ports = range.udp_ports,
                          .is_mirrored = check::has_doubled_frames(path, range.udp_ports)});
  Loader loader(capture, number, range, layouts);
  while (const auto frame = reader->next()) {
    checker.add(frame->link_type, *frame);
    loader.take(checker.latest(), *frame, extras);
  }
  checker.finish();
  take_flows(checker.connections(), capture);
  capture.findings = checker.findings().kept();
  capture.sightings = check::sightings_text(checker);
  capture.file = {.name = path,
                  .frames = checker.counts().frames,
                  .program = extras.program,
                  .interface = extras.interface,
                  .has_notes = !extras.notes.empty(),
                  .is_part = range.shown != nullptr,
                  .error = reader->error()};
  if (capture.file.error.empty() && extras.omitted_notes > 0) {
    capture.file.error = fmt::format("{} notes more than {} are left out", extras.omitted_notes, kMostNotes);
  }
  if (capture.file.is_part) {
    const check::LeftOut left_out = check::left_out_of(checker);
    capture.file.other_connections = left_out.connections;
    capture.file.other_packets = left_out.packets;
    capture.file.other_findings =
        std::accumulate(left_out.findings.begin(), left_out.findings.end(), std::uint64_t{0});
  }
  capture.notes = std::move(extras.notes);
  return capture;
}

}  // namespace urnic::view
