// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/switch/network_status.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace urnic::tools {
namespace {

using network::PriorityCounters;
using nlohmann::json;

/// A port with eight priorities, each with all counts, has less than 6 KB: so many fit into an answer.
constexpr std::size_t kPortsInAnAnswer = 16;

bool has_seen_something(const PriorityCounters& counts) {
  return counts.sent_frames + counts.received_frames + counts.all_dropped() + counts.pauses_sent +
             counts.pauses_received >
         0;
}

json drops(const PriorityCounters& counts) {
  json object = json::object();
  for (std::size_t i = 0; i < network::kDropReasons; ++i) {
    const auto reason = static_cast<network::DropReason>(i);
    if (counts.dropped(reason) > 0) object[std::string(to_string(reason))] = counts.dropped(reason);
  }
  return object;
}

json to_object(const PriorityCounters& counts, std::uint64_t queue_bytes) {
  return {{"sent_frames", counts.sent_frames},
          {"sent_bytes", counts.sent_bytes},
          {"received_frames", counts.received_frames},
          {"received_bytes", counts.received_bytes},
          {"marked_frames", counts.marked_frames},
          {"dropped_frames", drops(counts)},
          {"pauses_sent", counts.pauses_sent},
          {"pauses_received", counts.pauses_received},
          {"paused_us", std::chrono::duration_cast<std::chrono::microseconds>(counts.paused_time).count()},
          {"watchdog_fired", counts.watchdog_fired},
          {"queue_bytes", queue_bytes},
          {"highest_queue_bytes", counts.highest_queue_bytes}};
}

json port_object(const network::Network& it, network::PortId port) {
  const network::LinkId id = network::link_of(port);
  const network::Link& link = it.topology().links[static_cast<std::size_t>(id)];
  const network::PortCounters counters = it.counters(port);
  json priorities = json::object();
  for (unsigned priority = 0; priority < network::kPriorities; ++priority) {
    const PriorityCounters& counts = counters[priority];
    if (!has_seen_something(counts)) continue;
    priorities[std::to_string(priority)] = to_object(counts, it.queue_bytes(port, priority));
  }
  return {{"port", it.name_of(port)},
          {"is_up", it.is_up(id)},
          {"rate_bps", link.rate_bps},
          {"delay_ns", link.delay.count()},
          {"priorities", std::move(priorities)}};
}

}  // namespace

json describe_network(const network::Topology& it) {
  json hosts = json::array();
  for (const network::Host& host : it.hosts) hosts.push_back(host.name);
  return {{"name", it.name},
          {"hosts", std::move(hosts)},
          {"switches", it.switches.size()},
          {"links", it.links.size()}};
}

json network_ports(const network::Network& it, std::size_t first) {
  json ports = json::array();
  const std::size_t end = std::min(it.port_count(), first + kPortsInAnAnswer);
  for (std::size_t i = first; i < end; ++i) {
    ports.push_back(port_object(it, static_cast<network::PortId>(i)));
  }
  return {{"ports", std::move(ports)}, {"next", end < it.port_count() ? json(end) : json()}};
}

}  // namespace urnic::tools
