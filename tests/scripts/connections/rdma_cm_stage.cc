// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/scripts/connections/rdma_cm_stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "tools/conformance/script/connections/vocabulary.h"

namespace urnic::scripts::connections {
namespace {

using nic::rdma_cm::ConnectionParameters;
using nic::rdma_cm::DatagramParameters;
using nic::rdma_cm::IdNumber;
using transport::to_integer;
using transport::wire::Gid;
using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::Mac;

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

void set_private(Event& event, const nic::rdma_cm::PrivateBytes& data) {
  event.private_data.assign(data.bytes.begin(), data.bytes.begin() + data.size);
}

Event event_of(const nic::rdma_cm::Event& told) {
  Event event{.name = event_names()[to_integer(told.type)], .id = to_integer(told.id), .status = told.status};
  if (const auto* const of = std::get_if<ConnectionParameters>(&told.parameters)) {
    event.numbers = {{"qpn", to_integer(of->qp)},          {"resources", of->responder_resources},
                     {"depth", of->initiator_depth},       {"retries", of->retry_count},
                     {"rnr-retries", of->rnr_retry_count}, {"srq", of->srq},
                     {"flow-control", of->flow_control},   {"private-room", of->private_data.size}};
    set_private(event, of->private_data);
  }
  if (const auto* const of = std::get_if<DatagramParameters>(&told.parameters)) {
    event.numbers = {
        {"qpn", to_integer(of->qp)}, {"qkey", of->qkey}, {"private-room", of->private_data.size}};
    set_private(event, of->private_data);
  }
  return event;
}

}  // namespace

RdmaCmStage::RdmaCmStage(const Settings& settings)
    : Stage(settings), config_(config_of(settings)), now_(std::chrono::seconds(1000)), begin_(now_) {
  for (const Host host : {Host::kPeer, Host::kStranger}) neighbors_.learn(gid_of(host), mac_of(host), now_);
}

RdmaCmStage::~RdmaCmStage() {
  while (cm_.end_some_of(channel_, now_)) {
  }
}

Gid RdmaCmStage::gid_of(Host host) const {
  return is_ipv6() ? ipv6_of(host) : Ipv6Address::from_ipv4(ipv4_of(host));
}

// --- What happens ---

std::optional<Trouble> RdmaCmStage::drain() {
  nic::cm::CommunicationManager& messages = cm_.messages();
  while (messages.has_outgoing()) {
    if (!may_go_on()) return Trouble{fmt::format("more than {} messages and timers", kMostSteps)};
    const nic::cm::OutgoingMad& outgoing = messages.next_outgoing();
    Sent sent{.mad = Mad::of(outgoing.bytes),
              .at = now_,
              .source = outgoing.path.source,
              .destination = outgoing.path.destination,
              .traffic_class = outgoing.path.traffic_class,
              .service_level = outgoing.path.service_level};
    messages.pop();
    sent.known = conversation_.learn_sent(sent.mad, gids_.node_guid());
    note("> " + sent.mad.describe());
    sent_.push_back(std::move(sent));
  }
  return std::nullopt;
}

std::optional<Trouble> RdmaCmStage::arrive(const Mad& mad, std::size_t bytes, Host from) {
  if (!may_go_on()) return Trouble{fmt::format("more than {} messages and timers", kMostSteps)};
  cm_.messages().on_mad(mad.bytes().first(bytes),
                        {.source = gid_of(from), .destination = gid_of(Host::kOurs), .mac = mac_of(from)},
                        now_);
  return drain();
}

std::optional<Trouble> RdmaCmStage::pass(transport::Duration duration) {
  const transport::Time end = now_ + duration;
  while (cm_.next_timeout() <= end) {
    if (!may_go_on()) return Trouble{fmt::format("more than {} messages and timers", kMostSteps)};
    now_ = std::max(now_, cm_.next_timeout());
    cm_.on_timeout(now_);
    if (auto wrong = drain()) return wrong;
  }
  now_ = end;
  return std::nullopt;
}

// --- What came out ---

std::optional<Event> RdmaCmStage::await_event() {
  const auto told = cm_.next_event(channel_);
  if (!told) return std::nullopt;
  return event_of(*told);
}

std::optional<std::string> RdmaCmStage::first_unexpected(Look) {
  if (!sent_.empty()) return "> " + sent_.front().mad.describe();
  if (const auto event = await_event()) return describe(*event);
  return std::nullopt;
}

// --- Questions ---

Result<std::optional<transport::Duration>, Trouble> RdmaCmStage::next_timer() {
  const transport::Time next = cm_.next_timeout();
  if (next == transport::kNever) return std::optional<transport::Duration>();
  return std::optional(next - now_);
}

Result<std::string_view, Trouble> RdmaCmStage::state(std::uint64_t id) {
  const auto found = cm_.ids().find(IdNumber{static_cast<std::uint32_t>(id)});
  if (found == cm_.ids().end()) return script_error("the program has no such id");
  const auto state = cm_.snapshot(found->second).connection_state;
  return state ? name_of(*state) : std::string_view("NONE");
}

Result<std::vector<NamedNumber>, Trouble> RdmaCmStage::attributes(std::uint64_t id, transport::QpState to) {
  const auto answer = cm_.init_qp_attributes(channel_, IdNumber{static_cast<std::uint32_t>(id)}, to);
  if (!answer) return Trouble{fmt::format("the call fails: {}", answer.error().message)};
  const nic::rdma_cm::QpSettings& is = answer.value();
  return std::vector<NamedNumber>{{"qpn", to_integer(is.peer)},
                                  {"send-psn", is.send_psn.value()},
                                  {"receive-psn", is.receive_psn.value()},
                                  {"mtu", bytes(is.path_mtu)},
                                  {"resources", is.responder_resources},
                                  {"depth", is.initiator_depth},
                                  {"ack-timeout", is.ack_timeout},
                                  {"retries", is.retry_count},
                                  {"rnr-retries", is.rnr_retry_count},
                                  {"flow-label", is.address.flow_label},
                                  {"traffic-class", is.address.traffic_class},
                                  {"sl", is.address.service_level},
                                  {"reads", is.allows_reads}};
}

Result<std::size_t, Trouble> RdmaCmStage::connection_count() {
  return cm_.messages().connection_count();
}

Outcome run_connection_script(const Script& script) {
  RdmaCmStage stage(settings_of(script));
  return play(stage, script);
}

void play_connection_script(const Script& script) {
  RdmaCmStage stage(settings_of(script));
  play_unchecked(stage, script);
}

}  // namespace urnic::scripts::connections
