// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/wire/open_wire.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "drivers/af_xdp/af_xdp_port.h"
#include "drivers/bench/bench_link.h"
#include "drivers/bench/bench_port.h"
#include "drivers/interface/network_interface.h"
#include "drivers/udp/udp_port.h"
#include "nic/clock.h"
#include "nic/host/host_addresses.h"
#include "nic/host/route.h"
#include "tools/conformance/conform/wire/ip_over_ethernet.h"

namespace urnic::conform {
namespace {

using transport::wire::Gid;
using transport::wire::Ipv4Address;
using transport::wire::Mac;
using Opened = Result<std::unique_ptr<PortWire>, Error>;

/// What a NIC with `--port bench:PATH` has.
constexpr Ipv4Address kOwnOfBench{{10, 77, 0, 1}};
constexpr std::uint16_t kBenchMtu = 4200;

std::string text_of(const Gid& address) {
  return address.is_ipv4_mapped() ? to_string(address.ipv4()) : to_string(address);
}

/// Of the tester, whose address no other NIC there has: locally administered.
Mac mac_of(const Gid& own) {
  Mac mac{{2, 0}};
  std::copy(own.octets.end() - 4, own.octets.end(), mac.octets.begin() + 2);
  return mac;
}

Opened open_udp(const WireChoice& choice) {
  Addresses addresses{.own = choice.own, .peer = choice.peer};
  if (choice.own == Gid{}) {
    const auto route = nic::host_route_to({.destination = choice.peer});
    if (!route) return route.error();
    addresses.own = route.value().source;
  }
  const auto host = nic::find_host_addresses(text_of(addresses.own), nic::AddressWait::kUntilReady);
  if (!host) return host.error();
  auto port = drivers::UdpPort::open(
      {.addresses = host.value().all, .link_mtu = host.value().mtu, .may_segment = false});
  if (!port) return port.error();
  return std::make_unique<PortWire>(
      PortWire::Parts{.clock = std::make_unique<nic::SteadyClock>(), .port = std::move(port.value())},
      addresses);
}

std::unique_ptr<PortWire> over_ethernet(std::unique_ptr<nic::Clock> clock,
                                        std::unique_ptr<nic::PacketPort> port, nic::GrantedTime* time,
                                        const Addresses& addresses) {
  auto ethernet = std::make_unique<IpOverEthernet>(
      std::move(port),
      IpOverEthernet::Ends{.mac = mac_of(addresses.own), .own = addresses.own, .peer = addresses.peer},
      *clock);
  IpOverEthernet* const seen = ethernet.get();
  return std::make_unique<PortWire>(
      PortWire::Parts{.clock = std::move(clock), .port = std::move(ethernet), .time = time, .ethernet = seen},
      addresses);
}

Opened open_bench(const WireChoice& choice) {
  const Addresses addresses{.own = choice.own == Gid{} ? Gid::from_ipv4(kOwnOfBench) : choice.own,
                            .peer = choice.peer};
  auto clock = std::make_unique<nic::GrantedClock>();
  auto link = drivers::BenchLink::connect(
      choice.port.target,
      {.own = {.mac = mac_of(addresses.own),
               .link_mtu = choice.link_mtu == 0 ? kBenchMtu : choice.link_mtu,
               .ipv4 = addresses.own.is_ipv4_mapped() ? addresses.own.ipv4() : Ipv4Address{}},
       .tell = [](const std::string& line) { fmt::print(stderr, "urnic: conform: {}\n", line); }},
      *clock);
  if (!link) return link.error();
  nic::GrantedTime* const time = link.value().get();
  auto port = std::make_unique<drivers::BenchPort>(std::move(link.value()));
  return over_ethernet(std::move(clock), std::move(port), time, addresses);
}

Opened open_af_xdp(const WireChoice& choice) {
  if (choice.own == Gid{}) {
    return Error{.code = EINVAL,
                 .message = fmt::format("the tester needs an address that is free on {}: give --ip",
                                        choice.port.target)};
  }
  const auto interface = drivers::find_interface(choice.port.target);
  if (!interface) return interface.error();
  const auto mtu = choice.link_mtu == 0 ? static_cast<std::uint16_t>(interface.value().mtu) : choice.link_mtu;
  auto port = drivers::AfXdpPort::open(choice.port.target, mtu);
  if (!port) return port.error();
  return over_ethernet(std::make_unique<nic::SteadyClock>(), std::move(port.value()), nullptr,
                       {.own = choice.own, .peer = choice.peer});
}

}  // namespace

Opened open_wire(const WireChoice& choice) {
  using Kind = nic::PortSpec::Kind;
  if (choice.port.kind == Kind::kUdp) return open_udp(choice);
  if (choice.port.kind == Kind::kBench) return open_bench(choice);
  if (choice.port.kind == Kind::kAfXdp) return open_af_xdp(choice);
  return Error{
      .code = EINVAL,
      .message = "of the ports, only udp, udp:ADDRESS, bench:PATH and af_xdp:INTERFACE can play cases"};
}

}  // namespace urnic::conform
