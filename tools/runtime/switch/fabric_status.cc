// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/switch/fabric_status.h"

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "transport/wire/address.h"

namespace urnic::tools {
namespace {

using nlohmann::json;

/// The name of a process as the kernel has it; empty when it has ended.
std::string program_of(int process) {
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", process)), name);
  return name;
}

json to_object(const PortStatus& port) {
  json macs = json::array();
  for (const auto& mac : port.macs) macs.push_back(to_string(mac));
  return {{"port", port.description},
          {"macs", std::move(macs)},
          {"received_frames", port.traffic.received_frames},
          {"received_bytes", port.traffic.received_bytes},
          {"sent_frames", port.traffic.sent_frames},
          {"sent_bytes", port.traffic.sent_bytes},
          {"dropped_frames", port.traffic.dropped_frames},
          {"flooded_frames", port.counters.flooded_frames},
          {"malformed_frames", port.counters.malformed_frames},
          {"too_long_frames", port.counters.too_long_frames},
          {"late_frames", port.counters.late_frames}};
}

template <typename Address>
json text_or_null(const std::optional<Address>& address) {
  return address ? json(to_string(*address)) : json();
}

}  // namespace

PortStatus port_status(drivers::Switch& it, drivers::Switch::PortNumber number) {
  PortStatus status;
  status.description = it.port(number).description();
  status.traffic = it.port(number).statistics();
  status.counters = it.counters(number);
  status.macs = it.table().addresses_behind(number);
  return status;
}

std::string to_json(const FabricStatus& status) {
  json ports = json::array();
  for (const PortStatus& port : status.ports) {
    json object = to_object(port);
    object["slot"] = port.slot;
    object["process"] = port.holder.process;
    object["program"] = program_of(port.holder.process);
    object["ipv4"] = text_or_null(port.holder.ipv4);
    object["ipv6"] = text_or_null(port.holder.ipv6);
    ports.push_back(std::move(object));
  }
  // What a program calls itself need not be UTF-8.
  return json{{"fabric", status.name},
              {"switch", status.number},
              {"process", status.process},
              {"link_mtu", status.link_mtu},
              {"uptime_seconds", status.uptime.count()},
              {"ports", std::move(ports)},
              {"uplink", status.uplink ? to_object(*status.uplink) : json()},
              {"network", status.network}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace urnic::tools
