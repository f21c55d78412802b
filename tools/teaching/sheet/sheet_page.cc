// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/teaching/sheet/sheet_page.h"

#include <fmt/core.h>

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/teaching/sheet/bit_diagram.h"
#include "tools/teaching/sheet/html_writer.h"
#include "tools/teaching/sheet/sheet_style.h"

namespace urnic::sheet {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTitle = "RoCEv2 and verbs: headers, opcodes, states, statuses";

std::string word(const Json& row, const char* member) {
  return row[member].get<std::string>();
}

std::string joined(const Json& names, std::string_view separator) {
  std::string text;
  for (const Json& name : names) {
    if (!text.empty()) text += separator;
    text += name.get<std::string>();
  }
  return text;
}

std::string yes_or_no(const Json& flag) {
  return flag.get<bool>() ? "yes" : "–";
}

// --- Tables ---

void write_head(HtmlWriter& html, std::initializer_list<std::string_view> titles) {
  const auto head = html.begin("thead");
  const auto row = html.begin("tr");
  for (const std::string_view title : titles) html.element("th", title, {{"scope", "col"}});
}

void write_row_name(HtmlWriter& html, std::string_view text) {
  html.element("th", text, {{"scope", "row"}, {"class", "code"}});
}

void write_code(HtmlWriter& html, std::string_view text) {
  html.element("td", text, {{"class", "code"}});
}

// --- Sections ---

void write_fields(HtmlWriter& html, const Json& header) {
  const auto table = html.begin("table", {{"class", "fields"}});
  // The diagram beside it has the name for all to see.
  html.element("caption", fmt::format("Fields of {}", word(header, "name")), {{"class", "unseen"}});
  write_head(html, {"Field", "Bits", "Meaning"});
  const auto body = html.begin("tbody");
  for (const Json& field : header["fields"]) {
    const unsigned first = field["bit"];
    const unsigned bits = field["bits"];
    const auto row = html.begin("tr");
    html.element("th", word(field, "name") + (field["taken_for_ones"] ? "*" : ""), {{"scope", "row"}});
    html.element("td", bits == 1 ? fmt::format("{}", first) : fmt::format("{}–{}", first, first + bits - 1));
    html.element("td", word(field, "meaning"));
  }
}

void write_headers(HtmlWriter& html, const Json& data) {
  const auto section = html.begin("section");
  html.element("h2", "Headers");
  html.element("p",
               "A packet is Ethernet, IPv4 or IPv6, UDP, BTH, extended headers, payload, padding, and an "
               "ICRC of 4 bytes. Numbers are big-endian, except for the ICRC. * The ICRC takes these fields "
               "for ones, as switches and routers may change them. It covers all others, and eight bytes of "
               "ones in front of them.");
  for (const Json& header : data["headers"]) {
    const auto block = html.begin("div", {{"class", "header"}});
    write_bit_diagram(html, header);
    write_fields(html, header);
  }
}

void write_opcodes_of(HtmlWriter& html, const Json& data, const std::string& service) {
  const std::string prefix = service + " ";
  const auto table = html.begin("table");
  html.element("caption", fmt::format("Opcodes of {}", service));
  write_head(html, {"Opcode", "Name", "Headers", "Payload", "Is"});
  const auto body = html.begin("tbody");
  for (const Json& opcode : data["opcodes"]) {
    if (opcode["service"] != service) continue;
    const std::string name = word(opcode, "name");
    const auto row = html.begin("tr");
    write_row_name(html, fmt::format("0x{:02x}", opcode["opcode"].get<unsigned>()));
    html.element("td", name.substr(name.find(prefix) == 0 ? prefix.size() : 0));
    html.element("td", joined(opcode["headers"], ", "));
    html.element("td", yes_or_no(opcode["payload"]));
    html.element("td", word(opcode, "way"));
  }
}

void write_opcodes(HtmlWriter& html, const Json& data) {
  const auto section = html.begin("section");
  html.element("h2", "Opcodes");
  html.element("p",
               "The upper three bits are the service, the lower five the operation. The headers stand "
               "between BTH and payload, in this order.");
  const auto tables = html.begin("div", {{"class", "opcodes"}});
  std::string service;
  for (const Json& opcode : data["opcodes"]) {
    if (opcode["service"] == service) continue;
    service = word(opcode, "service");
    write_opcodes_of(html, data, service);
  }
}

void write_syndromes(HtmlWriter& html, const Json& data) {
  const auto table = html.begin("table");
  html.element("caption", "Syndromes of the AETH");
  write_head(html, {"Syndrome", "Name", "Meaning", "The requester", "Status"});
  const auto body = html.begin("tbody");
  for (const Json& syndrome : data["syndromes"]) {
    const unsigned first = syndrome["first"];
    const unsigned last = syndrome["last"];
    const auto row = html.begin("tr");
    write_row_name(
        html, first == last ? fmt::format("0x{:02x}", first) : fmt::format("0x{:02x}–0x{:02x}", first, last));
    html.element("td", word(syndrome, "name"));
    html.element("td", word(syndrome, "meaning"));
    html.element("td", word(syndrome, "requester"));
    write_code(html, word(syndrome, "status"));
  }
}

void write_codes(HtmlWriter& html, const Json& data, std::size_t first, std::size_t last) {
  const auto table = html.begin("table", {{"class", "codes"}});
  html.element("caption", fmt::format("Codes {} to {}", first, last));
  write_head(html, {"Code", "RNR, ms", "ACK, ms", "Credits"});
  const auto body = html.begin("tbody");
  for (std::size_t i = first; i <= last; ++i) {
    const Json& code = data["codes"][i];
    const Json& timeout = code["ack_timeout_ms"];
    const Json& credits = code["credits"];
    const auto row = html.begin("tr");
    html.element("th", fmt::format("{}", code["code"].get<unsigned>()), {{"scope", "row"}});
    html.element("td", fmt::format("{:.2f}", code["rnr_timer_ms"].get<double>()));
    html.element("td", timeout.is_null() ? "never" : fmt::format("{:.3f}", timeout.get<double>()));
    html.element("td", credits.is_null() ? "not said" : fmt::format("{}", credits.get<unsigned>()));
  }
}

void write_states(HtmlWriter& html, const Json& data) {
  const auto table = html.begin("table", {{"class", "whole"}});
  html.element("caption", "States of a queue pair");
  write_head(html, {"No.", "State", "Post receives", "Post sends", "Receives", "Sends", "Meaning"});
  const auto body = html.begin("tbody");
  for (const Json& state : data["states"]) {
    const auto row = html.begin("tr");
    html.element("td", fmt::format("{}", state["number"].get<unsigned>()));
    write_row_name(html, word(state, "name"));
    for (const char* const member : {"post_receive", "post_send", "receives", "sends"}) {
      html.element("td", yes_or_no(state[member]));
    }
    html.element("td", word(state, "meaning"));
  }
}

void write_transitions_of(HtmlWriter& html, const Json& data, std::string_view service) {
  const auto table = html.begin("table", {{"class", "attributes"}});
  html.element("caption", fmt::format("Transitions of {}", service));
  write_head(html, {"From", "To", "Needs IBV_QP_STATE and", "Allows besides"});
  const auto body = html.begin("tbody");
  for (const Json& transition : data["transitions"]) {
    if (transition["service"] != service) continue;
    const auto row = html.begin("tr");
    html.element("th", joined(transition["from"], ", "), {{"scope", "row"}});
    html.element("td", word(transition, "to"));
    html.element("td", joined(transition["required"], ", "), {{"class", "needed"}});
    html.element("td", joined(transition["optional"], ", "));
  }
}

void write_statuses(HtmlWriter& html, const Json& data) {
  const auto section = html.begin("section");
  html.element("h2", "Completions");
  html.element("p", "Other numbers of ibv_wc_status do not occur in urnic.");
  const auto table = html.begin("table");
  html.element("caption", "Statuses of completions");
  write_head(html, {"No.", "Status", "Meaning", "Look at"});
  const auto body = html.begin("tbody");
  for (const Json& status : data["statuses"]) {
    const auto row = html.begin("tr");
    html.element("td", fmt::format("{}", status["number"].get<unsigned>()));
    write_row_name(html, word(status, "name"));
    html.element("td", word(status, "meaning"));
    html.element("td", word(status, "look_at"));
  }
}

void write_answers(HtmlWriter& html, const Json& data) {
  const auto section = html.begin("section");
  html.element("h2", "Answers and times");
  html.element("p",
               "A NAK acknowledges everything before its own PSN. Below, codes of five bits: how long an RNR "
               "NAK has the requester wait (min_rnr_timer of the responder), how long a requester waits for "
               "an ACK (timeout), and credits of an ACK.");
  write_syndromes(html, data);
  constexpr std::size_t kTables = 4;
  const std::size_t codes = data["codes"].size() / kTables;
  const auto quarters = html.begin("div", {{"class", "quarters"}});
  for (std::size_t i = 0; i < kTables; ++i) write_codes(html, data, i * codes, (i + 1) * codes - 1);
}

void write_queue_pairs(HtmlWriter& html, const Json& data) {
  const auto section = html.begin("section");
  html.element("h2", "Queue pairs");
  write_states(html, data);
  html.element(
      "p", "ibv_modify_qp() takes the attributes below by the names of their masks, with IBV_QP_ in front.");
  for (const std::string_view service : {"RC", "UC", "UD"}) write_transitions_of(html, data, service);
}

void write_document_head(HtmlWriter& html) {
  const auto head = html.begin("head");
  html.empty_element("meta", {{"charset", "utf-8"}});
  html.empty_element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.element("title", kTitle);
  const auto style = html.begin("style");
  html.raw(kStyle);
}

}  // namespace

std::string page_of(const Json& data) {
  HtmlWriter html;
  html.raw("<!DOCTYPE html>\n");
  {
    const auto document = html.begin("html", {{"lang", "en"}});
    write_document_head(html);
    const auto body = html.begin("body");
    html.element("h1", kTitle);
    html.element("p", fmt::format("Made by 'urnic sheet' from the tables that urnic {} works with. Not the "
                                  "InfiniBand specification: where in doubt, that holds.",
                                  word(data, "urnic")));
    write_headers(html, data);
    write_answers(html, data);
    write_opcodes(html, data);
    write_queue_pairs(html, data);
    write_statuses(html, data);
  }
  return html.html();
}

}  // namespace urnic::sheet
