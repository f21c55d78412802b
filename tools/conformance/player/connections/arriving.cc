// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the peer sends, as far as the script leaves it open.
#include <fmt/core.h>

#include <initializer_list>
#include <span>
#include <utility>

#include "tools/conformance/player/connections/steps.h"
#include "tools/conformance/script/connections/vocabulary.h"
#include "tools/conformance/script/vocabulary.h"

namespace urnic::scripts::connections {
namespace {

using Numbers = std::initializer_list<std::pair<std::string_view, std::uint64_t>>;

constexpr std::uint64_t kPeerQpn = 0x22;
constexpr std::uint64_t kPeerGuid = 0x505400fffe000003;
constexpr std::uint64_t kPeerPort = 45000;
constexpr std::uint64_t kTcpServices = 0x01060000;
constexpr std::uint64_t kUdpServices = 0x01110000;

Host host_of(const Statement& statement, std::string_view field, Host otherwise) {
  const auto name = statement.get_or<Word>(field, "");
  if (name.empty()) return otherwise;
  return static_cast<Host>(index_of(host_names(), name));
}

void set_all(Mad& mad, Numbers numbers) {
  for (const auto& [field, value] : numbers) mad.set(field, value);
}

/// What Linux writes (facts 8 and 45; captures/rxe/rping).
void fill_in_defaults(Mad& mad, const Stage& stage, std::uint64_t port) {
  const std::string_view name = mad.name();
  const std::uint64_t ip_version = stage.is_ipv6() ? 6 : 4;
  if (name == "REQ") {
    set_all(mad, {{"service-id", kTcpServices | port},
                  {"guid", kPeerGuid},
                  {"qpn", kPeerQpn},
                  {"resources", 1},
                  {"depth", 1},
                  {"remote-timeout", 20},
                  {"local-timeout", 20},
                  {"psn", 100},
                  {"retries", 7},
                  {"pkey", 0xffff},
                  {"mtu", 3},
                  {"rnr-retries", 7},
                  {"cm-retries", 15},
                  {"local-lid", 0xffff},
                  {"remote-lid", 0xffff},
                  {"flow-label", (kPeerPort * 31 + port) & 0xfffff},
                  {"hop-limit", 64},
                  {"ack-timeout", 0x13},
                  {"ip-version", ip_version},
                  {"source-port", kPeerPort}});
  } else if (name == "SIDR_REQ") {
    set_all(mad, {{"pkey", 0xffff},
                  {"service-id", kUdpServices | port},
                  {"ip-version", ip_version},
                  {"source-port", kPeerPort}});
  } else if (name == "REP") {
    set_all(mad, {{"qpn", kPeerQpn},
                  {"psn", 100},
                  {"resources", 1},
                  {"depth", 1},
                  {"ack-delay", 15},
                  {"rnr-retries", 7},
                  {"guid", kPeerGuid}});
  } else if (name == "SIDR_REP") {
    set_all(mad, {{"qpn", kPeerQpn}, {"service-id", kUdpServices | port}, {"qkey", 0x01234567}});
  } else if (name == "REJ") {
    mad.set("reason", 28);
  } else if (name == "MRA") {
    mad.set("timeout", 20);
  }
}

void fill_in_addresses(Mad& mad, const Stage& stage, const Statement& statement) {
  const auto gid = [&](std::string_view field, Host otherwise) {
    const auto address = stage.gid_of(host_of(statement, field, otherwise));
    mad.set_address(field, std::as_bytes(std::span(address.octets)));
  };
  const auto header = [&](std::string_view field, Host otherwise) {
    mad.set_address(field, stage.header_address_of(host_of(statement, field, otherwise)));
  };
  gid("local-gid", Host::kPeer);
  gid("remote-gid", Host::kOurs);
  header("source", Host::kPeer);
  header("destination", Host::kOurs);
}

}  // namespace

std::optional<Trouble> arrive(Stage& stage, const Statement& statement) {
  Mad mad = *Mad::named(statement.subject_as<Word>());
  if (statement.flag("again")) {
    const Mad* const last = stage.conversation().last_arrived(mad.name());
    if (last == nullptr) return script_error(fmt::format("the peer has sent no {} yet", mad.name()));
    mad = *last;
  } else {
    std::optional<std::uint64_t> peer_id;
    for (const std::string_view field : {"local-id", "request-id"}) {
      const bool is_peers = field == "local-id" || mad.name() == "SIDR_REQ";
      if (statement.has(field) && is_peers) peer_id = drawn_number(stage, *statement.value(field)).number;
    }
    fill_in_defaults(mad, stage, statement.number("port", kPort));
    fill_in_addresses(mad, stage, statement);
    stage.conversation().fill_in(mad, peer_id);
  }
  for (const Field& field : statement.fields) {
    if (!mad.has(field.name)) continue;
    const Drawn drawn = drawn_number(stage, field.value);
    if (!drawn.number) return script_error(fmt::format("no number is called '{}' yet", drawn.new_name));
    mad.set(field.name, *drawn.number);
  }
  if (has_private(statement)) mad.set_private_data(private_octets(statement));
  stage.note("< " + mad.describe());
  stage.conversation().learn_arrived(mad);
  return stage.arrive(mad, statement.number("bytes", Mad::kBytes), host_of(statement, "from", Host::kPeer));
}

}  // namespace urnic::scripts::connections
