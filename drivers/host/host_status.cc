// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/host_status.h"

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "transport/wire/address.h"

namespace urnic::drivers {
namespace {

using nlohmann::json;

/// The name of a process as the kernel has it; empty when it has ended.
std::string program_of(int process) {
  std::string name;
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::getline(file, name);
  return name;
}

std::string text_of(const nic::rdma_cm::SocketAddress& address) {
  return address.family == nic::rdma_cm::SocketAddress::Family::kIpv4 ? to_string(address.address.ipv4())
                                                                      : to_string(address.address);
}

json to_object(const HostPorts::Held& held) {
  return {{"space", name_of(held.space)},
          {"address", text_of(held.binding.address)},
          {"port", held.binding.address.port},
          {"listening", held.binding.is_listening}};
}

json to_object(const HostStatus::Member& member) {
  json ports = json::array();
  for (const HostPorts::Held& held : member.ports) ports.push_back(to_object(held));
  return {{"slot", member.slot},
          {"process", member.process},
          {"program", program_of(member.process)},
          {"ports", std::move(ports)}};
}

}  // namespace

std::string to_json(const HostStatus& status) {
  json members = json::array();
  for (const HostStatus::Member& member : status.members) members.push_back(to_object(member));
  // What a program calls itself need not be UTF-8.
  return json{{"process", status.process},
              {"ipv6", status.has_ipv6},
              {"udp_port", status.udp_port},
              {"open_slots", status.open_slots},
              {"members", std::move(members)},
              {"requests",
               {{"handed_over", status.requests.handed_over},
                {"refused", status.requests.refused},
                {"not_taken", status.requests.not_taken},
                {"malformed", status.requests.malformed},
                {"stray", status.requests.stray}}},
              {"messages", {{"handed_over", status.messages.handed_over}, {"lost", status.messages.lost}}},
              {"strays", {{"handed_over", status.strays.handed_over}, {"lost", status.strays.lost}}}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace urnic::drivers
