// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/tester.h"

#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "nic/clock.h"
#include "nic/diagnostics/snapshot_names.h"
#include "nic/host/port_spec.h"
#include "nic/host/route.h"
#include "tools/command/launch.h"
#include "verbs_api/config/port_opener.h"

namespace urnic::tools {
namespace {

using nic::PortSpec;
using transport::wire::Gid;
using verbs_api::NicEnvironment;

Error no_such_tester(std::string why) {
  return {.code = EINVAL, .message = std::move(why)};
}

void set_variables(const TesterChoice& choice) {
  forget_outer_nic();
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("URNIC_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
  const bool is_ipv6 = choice.ip.find(':') != std::string::npos;
  setenv("URNIC_PORT", choice.port.c_str(), 1);
  setenv(is_ipv6 ? "URNIC_IP6" : "URNIC_IP", choice.ip.c_str(), 1);
  setenv("URNIC_MTU", choice.mtu.c_str(), 1);
  // Judged, too, where frames pass through memory.
  setenv("URNIC_ICRC", "always", 1);
}

/// A port that has addresses of the host, complete.
Result<PortSpec, Error> for_host(PortSpec port, const TesterChoice& choice) {
  if (!choice.ip.empty() || !choice.mtu.empty()) {
    return no_such_tester(
        "with the ports udp and host the tester has what the host has: leave --ip and --mtu away; "
        "udp:ADDRESS names an address");
  }
  port.is_unsegmented = true;  // each packet as the script has it
  if (port.kind == PortSpec::Kind::kUdp && port.target.empty()) {
    const auto route = nic::host_route_to({.destination = choice.peer});
    if (!route) return route.error();
    port.target = nic::address_text(route.value().source);
  }
  return port;
}

/// What packets to the peer come from.
Result<Gid, Error> own_address(const NicEnvironment& environment, const Gid& peer) {
  const nic::DeviceConfig& device = environment.device;
  if (device.medium == nic::Medium::kEthernet) {
    if (peer.is_ipv4_mapped() && device.ipv4) return Gid::from_ipv4(device.ipv4->address);
    if (!peer.is_ipv4_mapped() && device.ipv6) return Gid(device.ipv6->address);
    return no_such_tester(fmt::format("{} is of another version of IP than the tester's address: give --ip",
                                      nic::address_text(peer)));
  }
  const auto route = nic::host_route_to({.destination = peer});
  if (!route) return route.error();
  const Gid& source = route.value().source;
  const std::vector<Gid> own = environment.host.gids();
  if (std::ranges::find(own, source) != own.end()) return source;
  if (environment.port.kind == PortSpec::Kind::kUdp) return own.front();  // the user has named it
  return no_such_tester(
      fmt::format("packets to {0} leave from {1}, which this port does not have: say --port "
                  "udp:{1}, or host",
                  nic::address_text(peer), nic::address_text(source)));
}

}  // namespace

Result<Tester, Error> open_tester(TesterChoice choice) {
  const auto port = PortSpec::parse(choice.port);
  if (!port) return no_such_tester(fmt::format("--port {}: {}", choice.port, port.error().message));
  if (port.value().kind == PortSpec::Kind::kLoopback) {
    return no_such_tester("the port loopback leads to no peer");
  }
  if (port.value().has_host_addresses()) {
    auto spec = for_host(port.value(), choice);
    if (!spec) return spec.error();
    choice.port = spec.value().to_string();
  }
  set_variables(choice);
  auto environments = verbs_api::read_environments();
  if (!environments) return environments.error();
  Tester tester{.environment = std::make_unique<NicEnvironment>(std::move(environments.value().front())),
                .wire = nullptr};
  NicEnvironment& environment = *tester.environment;
  // Most ports need none.
  if (const auto folder = dropin_folder()) environment.switch_program = folder.value() + "/urnic_switch";
  if (auto checked = check_port(environment); !checked) return checked.error();
  const auto own = own_address(environment, choice.peer);
  if (!own) return own.error();
  // A switch that does without other hosts will do.
  if (own.value() == choice.peer) environment.is_port_chosen = false;
  auto opened = verbs_api::open_port(environment);
  if (!opened) return opened.error();
  static const nic::SteadyClock real;  // has no state
  const nic::Clock* clock = environment.granted_clock.get();
  if (clock == nullptr) clock = &real;
  tester.wire = std::make_unique<conform::PortWire>(
      std::move(opened.value()), *clock,
      conform::IpOverEthernet::Ends{.mac = environment.device.mac, .own = own.value(), .peer = choice.peer});
  return tester;
}

}  // namespace urnic::tools
