// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/simulation/experiment/patterns.h"

namespace urnic::experiment {
namespace {

std::optional<HostId> host_named(const nlohmann::ordered_json& value, const std::string& path,
                                 const network::Topology& topology, network::Complaint& complaint) {
  for (std::size_t i = 0; i < topology.hosts.size(); ++i) {
    if (value.is_string() && topology.hosts[i].name == value.get_ref<const std::string&>()) return HostId(i);
  }
  complaint.add(path, fmt::format("the topology has no host {}", network::shown(value)));
  return std::nullopt;
}

}  // namespace

std::optional<HostId> read_host(const network::Members& members, std::string_view name,
                                const network::Topology& topology, network::Complaint& complaint) {
  const auto* const value = members.require(name);
  if (value == nullptr) return std::nullopt;
  return host_named(*value, members.path_of(name), topology, complaint);
}

std::vector<HostId> read_hosts(const network::Members& members, std::string_view name,
                               const network::Topology& topology, network::Complaint& complaint) {
  std::vector<HostId> hosts;
  const auto* const list = members.find(name);
  if (list == nullptr) return hosts;
  if (!list->is_array()) {
    complaint.add(members.path_of(name),
                  fmt::format("a list [...] of hosts belongs here, not {}", network::shown(*list)));
    return hosts;
  }
  std::vector<bool> is_named(topology.hosts.size());
  for (std::size_t i = 0; i < list->size() && !complaint.is_made(); ++i) {
    const std::string path = fmt::format("{}[{}]", members.path_of(name), i);
    const auto host = host_named((*list)[i], path, topology, complaint);
    if (!host) break;
    const auto place = static_cast<std::size_t>(*host);
    if (is_named[place]) complaint.add(path, fmt::format("{} is named twice", network::shown((*list)[i])));
    is_named[place] = true;
    hosts.push_back(*host);
  }
  return hosts;
}

}  // namespace urnic::experiment
