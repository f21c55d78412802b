// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/snapshot_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "nic/diagnostics/snapshot_names.h"

namespace urnic::nic {

namespace {

// Members stay in the order in which they are written here.
using Json = nlohmann::ordered_json;

/// Null is what does not limit.
Json json_of(const transport::congestion::ControllerState& state) {
  using namespace transport::congestion;
  const Allowance& allowance = state.allowance;
  return {
      {"controller", name_of(state.kind)},
      {"rate", allowance.rate != kUnlimited ? Json(allowance.rate) : Json()},
      {"target_rate", state.target_rate},
      {"alpha_ppm", state.alpha_ppm},
      {"window_bytes", allowance.window_bytes != kUnlimitedBytes ? Json(allowance.window_bytes) : Json()}};
}

Json json_of(const QueuePairSnapshot& qp) {
  const bool has_peer = !qp.peer.is_unspecified();
  const transport::SendProgress& progress = qp.progress;
  return {{"number", to_integer(qp.number)},
          {"type", name_of(qp.type)},
          {"state", name_of(qp.state)},
          {"peer_qp", has_peer ? Json(to_integer(qp.peer_qp)) : Json()},
          {"peer_address", has_peer ? Json(address_text(qp.peer)) : Json()},
          {"send_psn", qp.send_psn.value()},
          {"receive_psn", qp.receive_psn.value()},
          {"msn", qp.msn},
          {"path_mtu", qp.path_mtu},
          {"sends_posted", qp.sends_posted},
          {"receives_posted", qp.receives_posted},
          {"packets_in_flight", progress.packets_in_flight},
          {"reads_in_flight", progress.reads_in_flight},
          {"waits_for_receiver", progress.waits_for_receiver},
          {"retries_used", progress.retries_used},
          {"retry_count", qp.retry_count},
          {"rnr_retries_used", progress.rnr_retries_used},
          {"rnr_retry", qp.rnr_retry},
          {"ack_timeout", qp.ack_timeout},
          {"retries", progress.retries},
          {"rnr_waits", progress.rnr_waits},
          {"protection_domain", qp.domain ? Json(*qp.domain) : Json()},
          {"shared_receive_queue", qp.srq ? Json(*qp.srq) : Json()},
          {"congestion", qp.congestion ? json_of(*qp.congestion) : Json()}};
}

Json json_of(const rdma_cm::IdSnapshot& id) {
  const bool is_bound = id.local.family != rdma_cm::SocketAddress::Family::kNone;
  const bool has_peer = id.peer.family != rdma_cm::SocketAddress::Family::kNone;
  const auto qp = [](transport::QpNumber number) {
    return number == transport::QpNumber{} ? Json() : Json(to_integer(number));
  };
  return {{"number", transport::to_integer(id.number)},
          {"service", name_of(id.service)},
          {"port_space", name_of(id.space)},
          {"state", name_of(id.state)},
          {"connection_state", id.connection_state ? Json(name_of(*id.connection_state)) : Json()},
          {"local_address", is_bound ? Json(address_text(id.local.address)) : Json()},
          {"local_port", is_bound ? Json(id.local.port) : Json()},
          {"peer_address", has_peer ? Json(address_text(id.peer.address)) : Json()},
          {"peer_port", has_peer ? Json(id.peer.port) : Json()},
          {"qp", qp(id.qp)},
          {"peer_qp", qp(id.peer_qp)},
          {"backlog_left", id.state == rdma_cm::IdState::kListen ? Json(id.backlog) : Json()}};
}

Json json_of(const ProgramObjects& objects) {
  Json domains = Json::array();
  for (const auto& one : objects.protection_domains) {
    domains.push_back({{"number", one.number}, {"context", one.context}, {"users", one.users}});
  }
  Json queues = Json::array();
  for (const auto& one : objects.completion_queues) {
    queues.push_back(
        {{"number", one.number}, {"context", one.context}, {"capacity", one.capacity}, {"users", one.users}});
  }
  Json shared = Json::array();
  for (const auto& one : objects.shared_receive_queues) {
    shared.push_back({{"number", one.number},
                      {"protection_domain", one.domain},
                      {"completion_queue", one.completion_queue ? Json(*one.completion_queue) : Json()}});
  }
  Json regions = Json::array();
  for (const auto& one : objects.memory_regions) {
    regions.push_back({{"key", one.key},
                       {"address", one.address},
                       {"length", one.length},
                       {"protection_domain", one.domain}});
  }
  return {{"contexts", objects.contexts},
          {"protection_domains", std::move(domains)},
          {"completion_queues", std::move(queues)},
          {"shared_receive_queues", std::move(shared)},
          {"memory_regions", std::move(regions)}};
}

}  // namespace

std::string to_json(const DeviceSnapshot& snapshot) {
  Json addresses = Json::array();
  for (const transport::wire::Gid& gid : snapshot.gids) addresses.push_back(address_text(gid));
  Json counters = Json::object();
  for (const auto& [name, value] : snapshot.counters) counters[name] = value;
  Json queue_pairs = Json::array();
  for (const QueuePairSnapshot& qp : snapshot.queue_pairs) queue_pairs.push_back(json_of(qp));
  Json ids = Json::array();
  for (const rdma_cm::IdSnapshot& id : snapshot.ids) ids.push_back(json_of(id));
  const Json all = {{"version", kSnapshotVersion},
                    {"program", snapshot.program},
                    {"pid", snapshot.pid},
                    {"device", snapshot.device},
                    {"port", snapshot.port},
                    {"port_is_open", snapshot.is_started},
                    {"has_link", snapshot.has_link},
                    {"mac", snapshot.mac},
                    {"addresses", std::move(addresses)},
                    {"link_mtu", snapshot.link_mtu},
                    {"uptime_ns", snapshot.uptime_ns},
                    {"completion_queues", snapshot.completion_queues},
                    {"shared_receive_queues", snapshot.shared_receive_queues},
                    {"memory_regions", snapshot.memory_regions},
                    {"memory_windows", snapshot.memory_windows},
                    {"counters", std::move(counters)},
                    {"queue_pairs", std::move(queue_pairs)},
                    {"rdma_cm_ids", std::move(ids)},
                    {"objects", json_of(snapshot.objects)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace urnic::nic
