// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/view/trace_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/conformance/check/cm/message.h"
#include "tools/conformance/check/packets/opcode.h"
#include "tools/conformance/check/packets/packet.h"

namespace urnic::view {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kRequest:
      return "request";
    case Kind::kResponse:
      return "response";
    case Kind::kAck:
      return "ack";
    case Kind::kNak:
      return "nak";
    case Kind::kRnr:
      return "rnr";
    case Kind::kCnp:
      return "cnp";
    case Kind::kCm:
      return "cm";
    case Kind::kDatagram:
      return "datagram";
    case Kind::kOther:
      return "other";
  }
  return "other";
}

const char* name_of(check::Severity severity) {
  switch (severity) {
    case check::Severity::kViolation:
      return "violation";
    case check::Severity::kHabit:
      return "habit";
    case check::Severity::kUnknown:
      return "unknown";
    case check::Severity::kEvent:
      return "event";
  }
  return "unknown";
}

/// Files hold any times.
std::int64_t since(std::int64_t begin, std::int64_t time) {
  std::int64_t difference = 0;
  const bool is_too_far = __builtin_sub_overflow(time, begin, &difference);
  return is_too_far ? std::numeric_limits<std::int64_t>::max() : difference;
}

void put(Json& object, const char* name, bool is_set) {
  if (is_set) object[name] = true;
}
void put(Json& object, const char* name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}
template <typename Number>
void put(Json& object, const char* name, const std::optional<Number>& number) {
  if (number) object[name] = *number;
}
void put(Json& object, const char* name, const std::vector<std::size_t>& indices) {
  if (!indices.empty()) object[name] = indices;
}

// --- Tables ---

Json values() {
  Json opcodes = Json::object();
  Json syndromes = Json::object();
  for (unsigned value = 0; value < 256; ++value) {
    const auto byte = static_cast<std::uint8_t>(value);
    if (check::info_of(byte).is_known()) opcodes[std::to_string(value)] = check::name_of(byte);
    syndromes[std::to_string(value)] = check::describe_syndrome(byte);
  }
  Json attributes = Json::object();
  for (std::uint16_t attribute = 0; attribute < 64; ++attribute) {
    if (const auto kind = check::cm_kind_of(attribute)) {
      attributes[std::to_string(attribute)] = check::to_string(*kind);
    }
  }
  return {{"opcode", opcodes},
          {"syndrome", syndromes},
          {"cm", attributes},
          {"flag", {{"0", "no"}, {"1", "yes"}}},
          {"ecn", {{"0", "not capable"}, {"1", "ECT(1)"}, {"2", "ECT(0)"}, {"3", "congestion experienced"}}},
          {"ipflags", {{"0", "none"}, {"1", "more fragments"}, {"2", "don't fragment"}}},
          {"protocol",
           {{"4", "IPv4"},
            {"17", "UDP"},
            {"27", "BTH (RoCEv1)"},
            {"41", "IPv6"},
            {"47", "GRE"},
            {"137", "MPLS"}}},
          {"udpport", {{"4791", "RoCEv2"}}},
          {"ethertype",
           {{"2048", "IPv4"},
            {"34525", "IPv6"},
            {"33024", "VLAN"},
            {"34984", "VLAN"},
            {"35093", "RoCEv1"},
            {"25944", "Ethernet"},
            {"34887", "MPLS"},
            {"34888", "MPLS"},
            {"35006", "ERSPAN"},
            {"8939", "ERSPAN III"}}}};
}

Json meanings() {
  Json object = Json::object();
  for (const Header& header : all_headers()) {
    for (const Field& field : header.fields) {
      put(object, fmt::format("{}.{}", header.name, field.name).c_str(), std::string(field.meaning));
    }
  }
  return object;
}

Json layouts_json(const Layouts& layouts) {
  Json list = Json::array();
  for (const Layout& layout : layouts.all()) {
    Json headers = Json::array();
    for (const PlacedHeader& placed : layout) {
      Json fields = Json::array();
      for (const Field& field : placed.header->fields) {
        fields.push_back(Json::array({field.name, 8 * placed.at + field.bit, field.bits, field.kind}));
      }
      headers.push_back({{"name", placed.header->name}, {"fields", std::move(fields)}});
    }
    list.push_back(std::move(headers));
  }
  return list;
}

// --- What was captured ---

class Writer {
 public:
  Writer(const Trace& trace, std::int64_t begin_ns) : trace_(trace), begin_ns_(begin_ns) {}

  Json file(const TraceFile& file) const {
    Json object = {{"name", file.name}, {"frames", file.frames}};
    put(object, "has_notes", file.has_notes);
    put(object, "program", file.program);
    put(object, "interface", file.interface);
    put(object, "error", file.error);
    if (file.is_part) {
      object["others"] = {{"connections", file.other_connections},
                          {"packets", file.other_packets},
                          {"findings", file.other_findings}};
    }
    return object;
  }

  Json connection(const Connection& connection) const {
    Json ends = Json::array();
    for (const End& end : connection.ends) {
      Json object = {{"address", check::to_string(end.address)}};
      put(object, "qp", end.qp);
      put(object, "file", end.file);
      ends.push_back(std::move(object));
    }
    return {{"service", connection.service},
            {"ends", std::move(ends)},
            {"packets", connection.packets},
            {"bytes", connection.bytes}};
  }

  Json packet(std::size_t index) const {
    const Packet& packet = trace_.packets[index];
    Json seen = Json::array();
    for (const Sighting& sighting : packet.seen) seen.push_back(this->sighting(sighting));
    Json object = {{"seen", std::move(seen)}};
    put(object, "connection", packet.connection);
    object.update({{"from", packet.from},
                   {"label", packet.label},
                   {"kind", name_of(packet.kind)},
                   {"psn", packet.psn},
                   {"payload", packet.payload_bytes}});
    put(object, "msn", packet.msn);
    put(object, "is_repeated", packet.repeats.has_value());
    put(object, "is_lost", packet.is_lost);
    put(object, "is_dropped", packet.is_dropped);
    put(object, "bad_icrc", packet.has_bad_icrc);
    put(object, "request", packet.request);
    put(object, "answers", packet.answers);
    put(object, "repeats", packet.repeats);
    put(object, "repeated_by", packet.repeated_by);
    object["layout"] = packet.layout;
    object["bytes"] = hex(packet.headers);
    put(object, "icrc", hex(packet.icrc));
    object["length"] = packet.wire_bytes;
    return object;
  }

  /// Members that are objects or arrays are not RECORDING.md's. A browser's numbers have no room for
  /// nanoseconds since 1970.
  Json note(const TraceNote& note) const {
    Json object = {{"file", note.file}, {"time", since(begin_ns_, note.time_ns)}};
    put(object, "packet", note.packet);
    put(object, "connection", note.connection);
    if (note.connection) object["end"] = note.end;
    object["what"] = note.note["urnic"];
    Json members = Json::object();
    for (const auto& [name, value] : note.note.items()) {
      if (name == "urnic" || name == "time_ns" || name == "frame" || !value.is_primitive()) continue;
      const bool is_time = name == "timer_ns" && value.is_number_integer();
      members[name] = is_time ? Json(since(begin_ns_, value.get<std::int64_t>())) : value;
    }
    object["members"] = std::move(members);
    return object;
  }

  Json finding(const TraceFinding& finding) const {
    const check::RuleInfo& rule = check::info_of(finding.rule);
    Json object = {{"rule", rule.name},
                   {"severity", name_of(finding.severity)},
                   {"title", rule.meaning},
                   {"file", finding.file}};
    put(object, "expected", finding.expected);
    put(object, "seen", finding.seen);
    put(object, "packets", finding.packets);
    return object;
  }

 private:
  Json sighting(const Sighting& seen) const {
    Json object = {{"file", seen.file}, {"frame", seen.frame}, {"time", since(begin_ns_, seen.time_ns)}};
    if (seen.way != Way::kUnknown) object["way"] = seen.way == Way::kSent ? "sent" : "received";
    put(object, "comment", seen.comment);
    return object;
  }

  const Trace& trace_;
  std::int64_t begin_ns_;
};

struct Span {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  void take(std::int64_t time) {
    begin = std::min(begin, time);
    end = std::max(end, time);
  }
};

Span span_of(const Trace& trace) {
  Span span;
  for (const Packet& packet : trace.packets) {
    for (const Sighting& seen : packet.seen) span.take(seen.time_ns);
  }
  for (const TraceNote& note : trace.notes) span.take(note.time_ns);
  return span.begin <= span.end ? span : Span{.begin = 0, .end = 0};
}

}  // namespace

Json trace_json(const Trace& trace, const Layouts& layouts) {
  const Span span = span_of(trace);
  const Writer writer(trace, span.begin);
  Json object = {{"urnic", URNIC_VERSION},
                 {"begin_ns", std::to_string(span.begin)},
                 {"end", since(span.begin, span.end)}};
  for (const TraceFile& file : trace.files) object["files"].push_back(writer.file(file));
  object["layouts"] = layouts_json(layouts);
  object["values"] = values();
  object["meanings"] = meanings();
  for (const Connection& connection : trace.connections) {
    object["connections"].push_back(writer.connection(connection));
  }
  Json& packets = object["packets"] = Json::array();
  for (std::size_t i = 0; i < trace.packets.size(); ++i) packets.push_back(writer.packet(i));
  for (const TraceNote& note : trace.notes) object["notes"].push_back(writer.note(note));
  for (std::size_t i = 0; i < trace.findings.size(); ++i) {
    object["findings"].push_back(writer.finding(trace.findings[i]));
    for (const std::size_t packet : trace.findings[i].packets) packets[packet]["findings"].push_back(i);
  }
  if (trace.omitted > 0) {
    object["omitted"] = {{"packets", trace.omitted},
                         {"why", "urnic view --packets and --skip choose others"}};
  }
  return object;
}

}  // namespace urnic::view
