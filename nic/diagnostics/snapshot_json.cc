#include "nic/diagnostics/snapshot_json.h"

#include <fmt/core.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "nic/diagnostics/snapshot_names.h"

namespace urnic::nic {

namespace {

// Members stay in the order in which they are written here.
using Json = nlohmann::ordered_json;

/// Written without a Json: there may be 16,384 of them, and nothing in them has to be escaped.
void append(std::string& text, const QueuePairSnapshot& qp) {
  const bool has_peer = !qp.peer.is_unspecified();
  const std::string peer_qp = has_peer ? std::to_string(to_integer(qp.peer_qp)) : "null";
  const std::string peer_address = has_peer ? '"' + address_text(qp.peer) + '"' : "null";
  const transport::SendProgress& progress = qp.progress;
  const auto to = std::back_inserter(text);
  fmt::format_to(to, R"({{"number":{},"type":"{}","state":"{}","peer_qp":{},"peer_address":{},)",
                 to_integer(qp.number), name_of(qp.type), name_of(qp.state), peer_qp, peer_address);
  fmt::format_to(to, R"("send_psn":{},"receive_psn":{},"msn":{},"path_mtu":{},)", qp.send_psn.value(),
                 qp.receive_psn.value(), qp.msn, qp.path_mtu);
  fmt::format_to(to, R"("sends_posted":{},"receives_posted":{},"packets_in_flight":{},"reads_in_flight":{},)",
                 qp.sends_posted, qp.receives_posted, progress.packets_in_flight, progress.reads_in_flight);
  fmt::format_to(to, R"("waits_for_receiver":{},"retries_used":{},"retry_count":{},"rnr_retries_used":{},)",
                 progress.waits_for_receiver, progress.retries_used, qp.retry_count,
                 progress.rnr_retries_used);
  fmt::format_to(to, R"("rnr_retry":{},"ack_timeout":{},"retries":{},"rnr_waits":{}}})", qp.rnr_retry,
                 qp.ack_timeout, progress.retries, progress.rnr_waits);
}

}  // namespace

std::string to_json(const DeviceSnapshot& snapshot) {
  Json addresses = Json::array();
  for (const transport::wire::Gid& gid : snapshot.gids) addresses.push_back(address_text(gid));
  Json counters = Json::object();
  for (const auto& [name, value] : snapshot.counters) counters[name] = value;
  const Json all = {{"version", kSnapshotVersion},
                    {"program", snapshot.program},
                    {"pid", snapshot.pid},
                    {"device", snapshot.device},
                    {"port", snapshot.port},
                    {"port_is_open", snapshot.is_started},
                    {"mac", snapshot.mac},
                    {"addresses", std::move(addresses)},
                    {"link_mtu", snapshot.link_mtu},
                    {"uptime_ns", snapshot.uptime_ns},
                    {"completion_queues", snapshot.completion_queues},
                    {"shared_receive_queues", snapshot.shared_receive_queues},
                    {"memory_regions", snapshot.memory_regions},
                    {"memory_windows", snapshot.memory_windows},
                    {"counters", std::move(counters)}};
  std::string text = all.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();
  text += ",\"queue_pairs\":[";
  const char* separator = "";
  for (const QueuePairSnapshot& qp : snapshot.queue_pairs) {
    text += separator;
    append(text, qp);
    separator = ",";
  }
  return text + "]}";
}

}  // namespace urnic::nic
