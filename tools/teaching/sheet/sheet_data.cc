// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/teaching/sheet/sheet_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nic/queues/posting.h"
#include "nic/queues/queue_pair_state.h"
#include "tools/conformance/check/packets/opcode.h"
#include "tools/conformance/check/packets/packet.h"
#include "tools/inspection/view/layouts.h"
#include "tools/teaching/sheet/icrc_cover.h"
#include "tools/teaching/sheet/sheet_words.h"
#include "transport/completion.h"
#include "transport/enum_names.h"
#include "transport/qp_state.h"
#include "transport/rc/credits.h"
#include "transport/rc/nak_status.h"
#include "transport/rc/syndrome.h"
#include "transport/rc/timing.h"
#include "transport/wire/opcode.h"
#include "verbs_api/datapath/wc_status.h"

namespace urnic::sheet {

using nic::QpType;
using transport::CompletionStatus;
using transport::QpState;

namespace wire = transport::wire;

namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kBytes = 256;  ///< values that a byte has
constexpr std::uint8_t kCodes = 32;

// --- Headers ---

/// The sheet is about RoCEv2 from the IP header on, without tunnels and the messages of connection managers.
bool is_on_sheet(const view::Header& header) {
  constexpr auto kOthers =
      std::to_array<std::string_view>({"Ethernet", "VLAN", "GRH", "MAD", "MPLS", "GRE", "ERSPAN II",
                                       "ERSPAN III", "VXLAN", "GENEVE", "Held packets"});
  return std::find(kOthers.begin(), kOthers.end(), header.name) == kOthers.end();
}

Json headers() {
  Json headers = Json::array();
  for (const view::Header& header : view::all_headers()) {
    if (!is_on_sheet(header)) continue;
    Json fields = Json::array();
    for (const view::Field& field : header.fields) {
      fields.push_back({{"name", field.name},
                        {"bit", field.bit},
                        {"bits", field.bits},
                        {"taken_for_ones", is_taken_for_ones(header, field)},
                        {"meaning", field.meaning}});
    }
    headers.push_back({{"name", header.name}, {"bytes", header.bytes}, {"fields", std::move(fields)}});
  }
  return headers;
}

// --- Opcodes ---

/// As view::all_headers() calls them, in the order of the wire.
constexpr auto kExtendedHeaders = std::to_array<std::pair<wire::Headers, std::string_view>>({
    {wire::Headers::kXrceth, "XRCETH"},
    {wire::Headers::kDeth, "DETH"},
    {wire::Headers::kFeth, "FETH"},
    {wire::Headers::kReth, "RETH"},
    {wire::Headers::kAtomicEth, "AtomicETH"},
    {wire::Headers::kAeth, "AETH"},
    {wire::Headers::kAtomicAckEth, "AtomicAckETH"},
    {wire::Headers::kImmediate, "ImmDt"},
    {wire::Headers::kIeth, "IETH"},
    {wire::Headers::kCnpReserved, "16 reserved bytes"},
});

Json opcodes() {
  Json opcodes = Json::array();
  for (unsigned value = 0; value < kBytes; ++value) {
    const auto byte = static_cast<std::uint8_t>(value);
    const wire::OpcodeInfo& info = wire::info(wire::Opcode{byte});
    // The sheet has what students find in books: not what is urnic's alone.
    if (!info.exists() || info.operation == wire::Operation::kSelectiveNak) continue;
    Json names = Json::array();
    for (const auto& [header, name] : kExtendedHeaders) {
      if (has(info.headers, header)) names.push_back(name);
    }
    opcodes.push_back({{"opcode", byte},
                       {"service", check::to_string(check::info_of(byte).service)},
                       {"name", info.name},
                       {"headers", std::move(names)},
                       {"header_bytes", info.header_bytes},
                       {"payload", info.has_payload},
                       {"way", info.is_request ? "request" : "answer"}});
  }
  return opcodes;
}

// --- Answers ---

std::string name_of_syndrome(std::uint8_t syndrome) {
  switch (transport::kind_of(syndrome)) {
    case transport::SyndromeKind::kAcknowledge:
      return "ACK";
    case transport::SyndromeKind::kRnrNak:
      return "RNR NAK";
    case transport::SyndromeKind::kNak:
      return check::describe_syndrome(syndrome);
    case transport::SyndromeKind::kReserved:
      break;
  }
  return "reserved";
}

/// How a requester ends the work request that this syndrome refuses for good; "" where it does not.
std::string status_after(std::uint8_t syndrome) {
  const auto nak = transport::nak_of(syndrome);
  const bool is_nak = transport::kind_of(syndrome) == transport::SyndromeKind::kNak;
  if (!is_nak || !nak || *nak == transport::Nak::kPsnSequenceError) return "";
  return fmt::format("IBV_WC_{}", name_of(transport::status_of(*nak)));
}

Json row_of_syndrome(std::uint8_t syndrome) {
  constexpr std::uint8_t kReserved = 0xff;
  // Codes of a NAK that have no meaning are not told from reserved kinds.
  if (check::kind_of(syndrome) == check::AnswerKind::kReserved) syndrome = kReserved;
  const SyndromeWords words = words_of_syndrome(syndrome);
  return {{"name", name_of_syndrome(syndrome)},
          {"meaning", words.meaning},
          {"requester", words.requester},
          {"status", status_after(syndrome)}};
}

/// Neighbors that mean the same are one row.
Json syndromes() {
  Json rows = Json::array();
  Json last;
  for (unsigned value = 0; value < kBytes; ++value) {
    Json row = row_of_syndrome(static_cast<std::uint8_t>(value));
    if (row == last) {
      rows.back()["last"] = value;
      continue;
    }
    last = row;
    Json ranged = {{"first", value}, {"last", value}};
    ranged.update(row);
    rows.push_back(std::move(ranged));
  }
  return rows;
}

double milliseconds(transport::Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// What the five bits of a timer or of credits stand for.
Json codes() {
  Json rows = Json::array();
  for (std::uint8_t code = 0; code < kCodes; ++code) {
    const auto credits = transport::Credits::of_code(code);
    // 0: no timeout at all (fact 36).
    rows.push_back({{"code", code},
                    {"rnr_timer_ms", milliseconds(transport::rnr_timer(code))},
                    {"ack_timeout_ms", code == 0 ? Json() : Json(milliseconds(transport::ack_timeout(code)))},
                    {"credits", credits ? Json(*credits) : Json()}});
  }
  return rows;
}

// --- Queue pairs ---

Json states() {
  Json rows = Json::array();
  for (std::size_t value = 0; value < transport::count_of<QpState>(); ++value) {
    const auto state = static_cast<QpState>(value);
    rows.push_back({{"number", value},
                    {"name", name_of(state)},
                    {"post_receive", nic::may_post_receives(state)},
                    {"post_send", nic::may_post_sends(state)},
                    {"receives", transport::can_receive(state)},
                    {"sends", transport::can_send(state)},
                    {"meaning", meaning_of(state)}});
  }
  return rows;
}

/// Transitions to the same state with the same attributes are one row, whose `from` has several states.
Json transitions_of_type(std::string_view service, QpType type) {
  Json rows = Json::array();
  for (const nic::Transition& transition : nic::transitions_of(type)) {
    Json row = {{"service", service},
                {"from", Json::array({name_of(transition.from)})},
                {"to", name_of(transition.to)},
                {"required", nic::names_of(transition.required)},
                {"optional", nic::names_of(transition.optional)}};
    const auto same = std::find_if(rows.begin(), rows.end(), [&row](const Json& other) {
      return row["to"] == other["to"] && row["required"] == other["required"] &&
             row["optional"] == other["optional"];
    });
    if (same != rows.end()) {
      (*same)["from"].push_back(name_of(transition.from));
      continue;
    }
    rows.push_back(std::move(row));
  }
  // In the order of a queue pair's life: RESET, where it ends as well, comes last.
  const auto place = [](const Json& row) {
    return *transport::find_named<QpState>(row["to"].get<std::string>());
  };
  std::stable_sort(rows.begin(), rows.end(), [&place](const Json& a, const Json& b) {
    return std::pair(place(a) == QpState::kReset, place(a)) <
           std::pair(place(b) == QpState::kReset, place(b));
  });
  return rows;
}

Json transitions() {
  Json all = Json::array();
  for (const auto& [service, type] :
       {std::pair("RC", QpType::kRc), std::pair("UC", QpType::kUc), std::pair("UD", QpType::kUd)}) {
    for (Json& row : transitions_of_type(service, type)) all.push_back(std::move(row));
  }
  return all;
}

// --- Completions ---

Json statuses() {
  Json rows = Json::array();
  for (std::size_t i = 0; i < transport::count_of<CompletionStatus>(); ++i) {
    const auto status = static_cast<CompletionStatus>(i);
    const StatusWords words = words_of(status);
    rows.push_back({{"number", static_cast<unsigned>(verbs_api::wc_status(status))},
                    {"name", fmt::format("IBV_WC_{}", name_of(status))},
                    {"meaning", words.meaning},
                    {"look_at", words.look_at}});
  }
  return rows;
}

}  // namespace

Json sheet_data() {
  return {{"urnic", URNIC_VERSION},       {"headers", headers()},  {"opcodes", opcodes()},
          {"syndromes", syndromes()},     {"codes", codes()},      {"states", states()},
          {"transitions", transitions()}, {"statuses", statuses()}};
}

}  // namespace urnic::sheet
