// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/connections/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>

#include "tools/conformance/player/connections/steps.h"
#include "tools/conformance/script/connections/vocabulary.h"

namespace urnic::conform::connections {
namespace {

using scripts::Statement;
using scripts::Trouble;
using scripts::Word;
using scripts::connections::Event;

std::string private_text(const Statement& statement) {
  const scripts::Octets octets = scripts::connections::private_octets(statement);
  return octets.empty() ? "" : " private=" + to_hex(octets.data(), octets.size());
}

/// The numbers that a program gives rdma_connect() and rdma_accept().
std::string parameters_text(const Statement& statement) {
  using namespace scripts::connections;
  return fmt::format(" qpn={} resources={} depth={} retries={} rnr-retries={} srq={:d} flow-control={:d}{}",
                     statement.number("qpn", kOwnQpn), statement.number("resources", 1),
                     statement.number("depth", 1), statement.number("retries", kRetries),
                     statement.number("rnr-retries", kRetries), statement.flag("srq"),
                     statement.flag("flow-control"), private_text(statement));
}

std::string options_text(const Statement& statement) {
  std::string text;
  for (const std::string_view option : {"tos", "ack-timeout"}) {
    if (statement.has(option)) text += fmt::format(" {}={}", option, statement.number(option));
  }
  return text;
}

}  // namespace

Result<std::string, Trouble> line_that_makes(const Statement& statement, const std::string& to) {
  using namespace scripts::connections;
  const Word service = statement.get_or<Word>("service", "rc");
  if (service != "rc" && service != "ud") {
    return scripts::unavailable(fmt::format("the listener has no ids for {}", service));
  }
  const std::uint64_t port = statement.number("port", kPort);
  const std::string options = options_text(statement);
  if (statement.name == "listen") {
    return fmt::format("listen {} {} {}{}", service, port, statement.number("backlog"), options);
  }
  return fmt::format("resolve {} {} {} {}{}", service, to, port, statement.number("from-port", kFromPort),
                     options);
}

Result<std::string, Trouble> line_about(const Statement& statement, std::uint64_t id) {
  const std::string& name = statement.name;
  if (name == "data") return scripts::unavailable("the listener's ids have no queue pair that data come to");
  if (statement.has("qkey")) return scripts::unavailable("librdmacm takes no Q_Key of a program");
  std::string line = fmt::format("{} {}", name, id);
  if (name == "connect" || name == "accept") return line + parameters_text(statement);
  if (name != "reject") return line;
  if (statement.has("reason")) line += fmt::format(" reason={}", statement.number("reason"));
  return line + private_text(statement);
}

std::optional<int> errno_of(const AgentReply& refusal) {
  int code = 0;
  const std::string& text = refusal.error;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  const bool is_number = error == std::errc() && end != text.data() + text.size() && *end == ' ';
  return is_number ? std::optional(code) : std::nullopt;
}

std::optional<Event> event_of(const AgentReply& reply) {
  using scripts::connections::event_names;
  const auto name = std::find(event_names().begin(), event_names().end(), reply.first());
  const auto id = reply.number("id");
  if (name == event_names().end() || !id) return std::nullopt;
  Event event{.name = *name, .id = *id};
  if (const auto status = reply.text("status")) {
    std::from_chars(status->data(), status->data() + status->size(), event.status);
  }
  for (const std::string_view number : {"qpn", "resources", "depth", "retries", "rnr-retries", "srq",
                                        "flow-control", "qkey", "private-room"}) {
    if (const auto value = reply.number(number)) event.numbers.push_back({number, *value});
  }
  if (auto data = read_hex(reply.text("private").value_or(""))) event.private_data = *std::move(data);
  return event;
}

}  // namespace urnic::conform::connections
