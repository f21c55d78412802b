// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/fabric_network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "drivers/fabric/control.h"

namespace urnic::tools {
namespace {

using nlohmann::json;

/// "25 Gb/s", "1500 kb/s".
std::string rate_text(std::uint64_t bits_per_second) {
  constexpr const char* kUnits[] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"};
  std::size_t unit = 0;
  while (bits_per_second >= 1000 && bits_per_second % 1000 == 0 && unit + 1 < std::size(kUnits)) {
    bits_per_second /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", bits_per_second, kUnits[unit]);
}

/// "12 tail_drop, 3 link_down"
std::string drops_text(const json& drops) {
  std::string text;
  for (const auto& [reason, count] : drops.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.get<std::uint64_t>(), reason);
  }
  return text.empty() ? "-" : text;
}

void print_port(const json& port, int width) {
  const std::string name = port.at("port").get<std::string>();
  const std::string rate = port.at("is_up").get<bool>() ? rate_text(port.at("rate_bps")) : "down";
  for (const auto& [priority, counts] : port.at("priorities").items()) {
    const auto count = [&all = counts](const char* which) { return all.at(which).get<std::uint64_t>(); };
    fmt::print("{:<{}}{:<11}{:>4}{:>12}{:>14}{:>10}{:>10}{:>11}{:>11}{:>11}  {}\n", name, width, rate,
               priority, count("sent_frames"), count("sent_bytes"), count("marked_frames"),
               count("pauses_received"), count("paused_us"), count("queue_bytes"),
               count("highest_queue_bytes"), drops_text(counts.at("dropped_frames")));
  }
}

}  // namespace

Result<json, Error> ask_network_ports(const nic::SwitchFiles& files) {
  json ports = json::array();
  json next = 0;
  while (!next.is_null()) {
    const auto answer = drivers::ask_switch(files, fmt::format("network {}", next.get<std::uint64_t>()));
    if (!answer) return answer.error();
    json some = json::parse(answer.value());
    for (json& port : some.at("ports")) ports.push_back(std::move(port));
    if (some.at("ports").empty()) break;
    next = some.at("next");
  }
  return ports;
}

std::string host_name(const json& network, std::size_t host) {
  if (network.is_null() || host >= network.at("hosts").size()) return "";
  return network.at("hosts").at(host).get<std::string>();
}

void print_network(const json& network, const json& ports) {
  const json& hosts = network.at("hosts");
  fmt::print("\nnetwork {}: {} hosts, {} switches, {} links\n", network.at("name").get<std::string>(),
             hosts.size(), network.at("switches").get<std::uint64_t>(),
             network.at("links").get<std::uint64_t>());
  std::string free_hosts;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const bool is_taken = std::any_of(ports.begin(), ports.end(), [i](const json& port) {
      return port.at("slot").get<std::size_t>() == i;
    });
    if (!is_taken) {
      free_hosts += fmt::format("{}{} ({})", free_hosts.empty() ? "" : ", ", host_name(network, i), i);
    }
  }
  if (!free_hosts.empty()) fmt::print("hosts without a program, and their ports: {}\n", free_hosts);

  std::size_t width = 6;
  for (const json& port : network.at("ports")) {
    width = std::max(width, port.at("port").get<std::string>().size() + 2);
  }
  fmt::print("{:<{}}{:<11}{:>4}{:>12}{:>14}{:>10}{:>10}{:>11}{:>11}{:>11}  {}\n", "link", width, "rate",
             "prio", "frames out", "bytes", "marked", "pauses", "paused us", "queue", "highest", "dropped");
  for (const json& port : network.at("ports")) print_port(port, static_cast<int>(width));
}

}  // namespace urnic::tools
