// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <array>
#include <nlohmann/json.hpp>

#include "tools/conformance/check/cm/agreement.h"
#include "tools/conformance/check/packets/packet.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::check {
namespace {

using nlohmann::json;

json requests_json(const ExchangeCounts& counts) {
  json refused = json::object();
  for (const auto& [syndrome, count] : counts.fatal_naks) refused[describe_syndrome(syndrome)] = count;
  json object = {{"packets", counts.request_packets},
                 {"answers", counts.answer_packets},
                 {"sends", counts.sends},
                 {"writes", counts.writes},
                 {"reads", counts.reads},
                 {"atomics", counts.atomics},
                 {"others", counts.others},
                 {"bytes", counts.bytes},
                 {"delivered_bytes", counts.delivered_bytes},
                 {"repeated_packets", counts.repeated_packets},
                 {"repeated_bytes", counts.repeated_bytes},
                 {"missing_psns", counts.missing_psns},
                 {"late_packets", counts.late_packets},
                 {"sequence_naks", counts.sequence_naks},
                 {"selective_naks", counts.selective_naks},
                 {"implied_naks", counts.implied_naks},
                 {"rnr_naks", counts.rnr_naks},
                 {"fatal_naks", refused},
                 {"goodput_bps", goodput_bps(counts)}};
  if (counts.rtt_samples > 0) {
    object["answered_in"] = {{"samples", counts.rtt_samples},
                             {"min_ns", counts.rtt_min_ns},
                             {"mean_ns", counts.rtt_sum_ns / static_cast<std::int64_t>(counts.rtt_samples)},
                             {"max_ns", counts.rtt_max_ns}};
  }
  return object;
}

/// What REQ and REP say of the requests of one direction.
json agreed_json(const AgreedFlow& agreed) {
  return {{"first_psn", agreed.first_psn.value()},    {"ack_timeout_ns", agreed.limits.ack_timeout_ns},
          {"retry_count", agreed.limits.retry_count}, {"rnr_retry", agreed.limits.rnr_retry},
          {"max_reads", agreed.limits.max_reads},     {"target_ack_delay_ns", agreed.limits.ack_delay_ns}};
}

json flow_json(const Flow& flow, std::uint64_t marked) {
  json object = {{"source", to_string(flow.key.source)},
                 {"destination", to_string(flow.key.destination)},
                 {"destination_qp", flow.key.destination_qp},
                 {"packets", flow.packets},
                 {"network_copies", flow.copies},
                 {"cnps", flow.cnps},
                 {"ecn_marked", marked}};
  if (flow.service == Service::kUd) {
    object["source_qp"] = flow.source_qp;
    object["datagram_bytes"] = flow.datagram_bytes;
  }
  if (flow.direction && flow.direction->exchange.counts.request_packets > 0) {
    object["requests"] = requests_json(flow.direction->exchange.counts);
    object["path_mtu"] = flow.direction->exchange.mtu == 0 ? json() : json(flow.direction->exchange.mtu);
  }
  if (flow.direction && flow.direction->agreed != nullptr) {
    object["agreed"] = agreed_json(flow.direction->agreed->flow);
  }
  return object;
}

json connections_json(const Checker& checker) {
  const Connections& connections = checker.connections();
  const auto json_of = [&](std::uint32_t flow) {
    return flow_json(connections.flows()[flow], checker.notifications().marked_in(flow));
  };
  json list = json::array();
  for (const Pair& pair : pairs_of(connections)) {
    json flows = json::array({json_of(pair.forward)});
    if (pair.backward) flows.push_back(json_of(*pair.backward));
    list.push_back({{"service", to_string(connections.flows()[pair.forward].service)}, {"flows", flows}});
  }
  return list;
}

json distances_json(const Distances& distances) {
  if (distances.count() == 0) return {};
  return {{"least_ns", distances.least()}, {"typical_ns", distances.typical()}};
}

json cnp_senders_json(const Checker& checker, bool has_policy) {
  json list = json::array();
  for (const CnpSender& sender : checker.notifications().spacing().senders()) {
    json object = {{"address", to_string(sender.address)}, {"cnps", sender.cnps}};
    for (const CnpScope scope : {CnpScope::kQueuePair, CnpScope::kAddress, CnpScope::kPort}) {
      object["apart_by"][to_string(scope)] =
          distances_json(sender.distances[static_cast<std::size_t>(scope)]);
    }
    if (has_policy) object["expected_cnps"] = sender.expected;
    list.push_back(object);
  }
  return list;
}

json pauses_json(const Pauses& pauses) {
  json list = json::array();
  for (const Pauser& pauser : pauses.pausers()) {
    for (std::size_t priority = 0; priority < pauser.counts.size(); ++priority) {
      const PauseCounts& counts = pauser.counts[priority];
      if (counts.xoff + counts.xon == 0) continue;
      list.push_back({{"from", to_string(pauser.mac)},
                      {"priority", priority == Pauser::kAll ? json("all") : json(priority)},
                      {"xoff", counts.xoff},
                      {"xon", counts.xon},
                      {"paused_ns", counts.paused_ns}});
    }
  }
  return list;
}

json findings_json(const Checker& checker) {
  json list = json::array();
  for (const Finding& finding : checker.findings().kept()) {
    list.push_back({{"rule", info_of(finding.rule).name},
                    {"severity", to_string(finding.severity)},
                    {"frames", finding.frames},
                    {"count", finding.count},
                    {"connection", checker.connections().name_of_flow(finding.flow)},
                    {"expected", finding.expected},
                    {"seen", finding.seen}});
  }
  return list;
}

json silences_json(const Connections& connections) {
  json list = json::array();
  for (const Silence& silence : connections.silences().longest()) {
    const bool is_pause = silence.kind == SilenceKind::kPause;
    json object = {{"kind", is_pause ? "pause" : "answer"},
                   {"connection", connections.name_of_flow(silence.flow)},
                   {"ns", silence.ns},
                   {"from", {{"frame", silence.begin.frame}, {"packet", to_string(silence.begin)}}},
                   {"ended_by", nullptr}};
    if (silence.end) {
      object["ended_by"] = {{"frame", silence.end->frame}, {"packet", to_string(*silence.end)}};
    }
    if (is_pause) {
      object["is_repetition"] = silence.is_again;
      object["all_answered"] = silence.is_idle;
    } else {
      object["transmissions"] = silence.transmissions;
    }
    list.push_back(object);
  }
  return list;
}

/// How many frames there are of each kind; kinds that have none are left out.
template <typename Kind, std::size_t kKinds>
json by_name(const std::array<std::uint64_t, kKinds>& counts) {
  json object = json::object();
  for (std::size_t i = 0; i < kKinds; ++i) {
    if (counts[i] > 0) object[to_string(static_cast<Kind>(i))] = counts[i];
  }
  return object;
}

json port_hints_json(const PortHints& hints) {
  json list = json::array();
  for (const auto& [port, frames] : hints.by_port()) list.push_back({{"port", port}, {"frames", frames}});
  return list;
}

/// Null if nothing was left out on purpose.
json left_out_json(const Checker& checker) {
  if (!checker.is_choice()) return {};
  const LeftOut left_out = left_out_of(checker);
  json object = {{"connections", left_out.connections}, {"packets", left_out.packets}};
  for (std::size_t severity = 0; severity < kSeverities; ++severity) {
    object["findings"][to_string(static_cast<Severity>(severity))] = left_out.findings[severity];
  }
  return object;
}

}  // namespace

json json_report(const std::string& file, const Checker& checker, const std::string& damage) {
  const FrameCounts& counts = checker.counts();
  json by_rule = json::object();
  for (const RuleInfo& info : all_rules()) {
    if (checker.findings().count_of(info.rule) > 0) {
      by_rule[info.name] = checker.findings().count_of(info.rule);
    }
  }
  return {{"file", file},
          {"verdict", to_string(verdict_of(checker, damage))},
          {"damage", damage.empty() ? json() : json(damage)},
          {"frames", counts.frames},
          {"roce_v2", counts.roce_v2},
          {"roce_v1", counts.roce_v1},
          {"other_frames", counts.others},
          {"doubled_frames", counts.copies},
          {"fragments", counts.fragments},
          {"reassembled_datagrams", checker.fragments().completed()},
          {"incomplete_datagrams", checker.fragments().incomplete()},
          {"out_of_order", counts.late},
          {"tunnels", by_name<Wrapping>(counts.wrapped)},
          {"not_looked_into", by_name<Obstacle>(counts.not_looked_into)},
          {"bth_on_udp_ports", port_hints_json(checker.port_hints())},
          {"bytes", counts.bytes},
          {"icrc_right", counts.icrc_right},
          {"icrc_wrong", counts.icrc_wrong},
          {"icrc_unknown", counts.icrc_unknown},
          {"ecn_marked", counts.ecn_marked},
          {"duration_ns", counts.last_ns - counts.first_ns},
          {"violations", checker.findings().count_of(Severity::kViolation)},
          {"count_by_rule", by_rule},
          {"connections", connections_json(checker)},
          {"left_out", left_out_json(checker)},
          {"longest_silences", silences_json(checker.connections())},
          {"cnp_senders", cnp_senders_json(checker, checker.notifications().spacing().has_policy())},
          {"pauses", pauses_json(checker.pauses())},
          {"pause_frames_of_other_links", checker.pauses().others()},
          {"findings", findings_json(checker)}};
}

}  // namespace urnic::check
