// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/scripts/connections/stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

namespace urnic::scripts::connections {
namespace {

using nic::rdma_cm::SocketAddress;
using transport::wire::Gid;
using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::Mac;

constexpr std::size_t kMostLadderLines = 400;

/// Each host has a number that its addresses end with.
std::uint8_t number_of(Host host) {
  switch (host) {
    case Host::kOurs:
      return 2;
    case Host::kPeer:
      return 3;
    case Host::kStranger:
      return 9;
  }
  return 0;
}

Mac mac_of(Host host) {
  return {{0x02, 0, 0, 0, 0, number_of(host)}};
}

Ipv4Address ipv4_of(Host host) {
  return {{10, 77, 0, number_of(host)}};
}

Ipv6Address ipv6_of(Host host) {
  return *Ipv6Address::parse(fmt::format("fd77::{}", number_of(host)));
}

nic::DeviceConfig config_of(const Settings& settings) {
  nic::DeviceConfig config;
  config.mac = mac_of(Host::kOurs);
  config.ipv4 = nic::Ipv4Interface{.address = ipv4_of(Host::kOurs)};
  config.ipv6 = nic::Ipv6Interface{.address = ipv6_of(Host::kOurs)};
  config.link_mtu = settings.link_mtu;
  config.seed = 5;
  return config;
}

}  // namespace

Stage::Stage(const Settings& settings)
    : settings_(settings), config_(config_of(settings)), now_(std::chrono::seconds(1000)), begin_(now_) {
  for (const Host host : {Host::kPeer, Host::kStranger}) neighbors_.learn(gid_of(host), mac_of(host), now_);
}

Stage::~Stage() {
  while (cm_.end_some_of(channel_, now_)) {
  }
}

Gid Stage::gid_of(Host host) const {
  return settings_.is_ipv6 ? ipv6_of(host) : Ipv6Address::from_ipv4(ipv4_of(host));
}

std::array<std::byte, Mad::kAddressBytes> Stage::header_address_of(Host host) const {
  std::array<std::byte, Mad::kAddressBytes> address{};
  const Gid gid = gid_of(host);
  const std::size_t from = settings_.is_ipv6 ? 0 : 12;
  for (std::size_t i = from; i < address.size(); ++i) address[i] = std::byte{gid.octets[i]};
  return address;
}

SocketAddress Stage::address_of(Host host, std::uint16_t port) const {
  const auto family = settings_.is_ipv6 ? SocketAddress::Family::kIpv6 : SocketAddress::Family::kIpv4;
  return {.family = family, .address = gid_of(host), .port = port};
}

// --- The conversation ---

Stage::Exchange& Stage::exchange(std::uint64_t peer_id) {
  const auto found = exchanges_.find(peer_id);
  return found == exchanges_.end() ? begun_ : found->second;
}

void Stage::fill_in(Mad& mad, std::optional<std::uint64_t> wanted_id) {
  const std::string_view name = mad.name();
  const bool is_request = name == "REQ" || name == "SIDR_REQ";
  const std::uint64_t peer_id = wanted_id.value_or(is_request ? kPeerId : peer_id_);
  if (mad.has("local-id")) mad.set("local-id", peer_id);
  if (name == "SIDR_REQ") mad.set("request-id", peer_id);
  if (is_request || name == "DREQ") {
    mad.set("tid", next_peer_tid_++);
  } else if (name == "DREP") {
    mad.set("tid", disconnect_tid_);
  } else {
    mad.set("tid", exchange(peer_id).tid);
  }
  const Exchange& with = exchange(peer_id);
  if (mad.has("remote-id")) mad.set("remote-id", with.own_id);
  if (name == "SIDR_REP") mad.set("request-id", begun_.own_id);
  if (name == "DREQ") mad.set("qpn", with.own_qpn);
}

const Mad* Stage::last_arrived(std::string_view name) const {
  const auto found = arrived_.find(name);
  return found == arrived_.end() ? nullptr : &found->second;
}

void Stage::learn_arrived(const Mad& mad) {
  const std::string_view name = mad.name();
  arrived_.insert_or_assign(std::string(name), mad);
  peer_tids_[std::string(name)].insert(mad.get("tid"));
  if (mad.has("local-id")) peer_ids_.insert(mad.get("local-id"));
  if (name == "REQ" || name == "REP") peer_id_ = mad.get("local-id");
  if (name == "REQ") {
    Exchange& with = exchanges_[mad.get("local-id")];
    if (with.tid != mad.get("tid")) with = {.tid = mad.get("tid")};
  }
  if (name == "REP" && begun_.own_id == mad.get("remote-id")) exchanges_[mad.get("local-id")] = begun_;
}

void Stage::learn_sent(Sent& sent) {
  const Mad& mad = sent.mad;
  const std::string_view name = mad.name();
  const auto expect = [&](std::string_view field, std::set<std::uint64_t> values) {
    sent.known[field] = std::move(values);
  };
  if (name == "REQ" || name == "SIDR_REQ") {
    begun_ = {.own_id = mad.get(name == "REQ" ? "local-id" : "request-id"),
              .own_qpn = name == "REQ" ? mad.get("qpn") : 0,
              .tid = mad.get("tid")};
  }
  if (name == "REQ" || name == "REP") expect("guid", {own_guid()});
  if (name == "SIDR_REP") expect("tid", peer_tids_["SIDR_REQ"]);
  if (name == "DREP") expect("tid", peer_tids_["DREQ"]);
  if (name == "DREQ") disconnect_tid_ = mad.get("tid");
  if (!mad.has("remote-id")) return;

  std::set<std::uint64_t> remote_ids = peer_ids_;
  // A side that gives up before any answer came knows no ID.
  if (name == "REJ") remote_ids.insert(0);
  expect("remote-id", std::move(remote_ids));
  const auto found = exchanges_.find(mad.get("remote-id"));
  if (found == exchanges_.end()) return;
  Exchange& with = found->second;
  if (name == "REP" || name == "RTU" || name == "MRA" || name == "REJ") expect("tid", {with.tid});
  if (name == "REJ") return;
  if (with.own_id != 0) expect("local-id", {with.own_id});
  if (name == "REP" || name == "MRA") with.own_id = mad.get("local-id");
  if (name == "REP") with.own_qpn = mad.get("qpn");
}

// --- What happens ---

std::optional<std::string> Stage::drain() {
  nic::cm::CommunicationManager& messages = cm_.messages();
  while (messages.has_outgoing()) {
    if (!may_go_on()) return fmt::format("more than {} messages and timers", kMostSteps);
    const nic::cm::OutgoingMad& outgoing = messages.next_outgoing();
    Sent sent{.mad = Mad::of(outgoing.bytes), .at = now_, .path = outgoing.path, .known = {}};
    messages.pop();
    learn_sent(sent);
    note("> " + sent.mad.describe());
    sent_.push_back(std::move(sent));
  }
  return std::nullopt;
}

std::optional<std::string> Stage::arrive(const Mad& mad, std::size_t bytes, Host from) {
  if (!may_go_on()) return fmt::format("more than {} messages and timers", kMostSteps);
  note("< " + mad.describe());
  learn_arrived(mad);
  cm_.messages().on_mad(mad.bytes().first(bytes),
                        {.source = gid_of(from), .destination = gid_of(Host::kOurs), .mac = mac_of(from)},
                        now_);
  return drain();
}

std::optional<std::string> Stage::pass(transport::Duration duration) {
  const transport::Time end = now_ + duration;
  while (cm_.next_timeout() <= end) {
    if (!may_go_on()) return fmt::format("more than {} messages and timers", kMostSteps);
    now_ = std::max(now_, cm_.next_timeout());
    cm_.on_timeout(now_);
    if (auto wrong = drain()) return wrong;
  }
  now_ = end;
  return std::nullopt;
}

void Stage::note(std::string_view text) {
  if (ladder_.size() == kMostLadderLines) ladder_.pop_front();
  const double seconds = std::chrono::duration<double>(now_ - begin_).count();
  ladder_.push_back(fmt::format("{:>12.6f} s  {}", seconds, text));
}

}  // namespace urnic::scripts::connections
