// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/switch/network_file.h"

#include <fmt/core.h>

#include <cerrno>

#include "drivers/fault/network_faults.h"
#include "drivers/network/frame_pool.h"
#include "drivers/network/topology_file.h"
#include "nic/host/fabric_slots.h"
#include "tools/inspection/files/text_file.h"

namespace urnic::tools {
namespace {

constexpr std::size_t kEthernetHeaderBytes = 14;

Result<void, Error> check_needs(const network::Topology& topology, const FabricNeeds& needs) {
  const auto misfit = [](std::string message) {
    return Error{.code = EINVAL, .message = std::move(message)};
  };
  const std::size_t programs = program_hosts(topology.hosts.size(), needs.has_uplink);
  if (programs > nic::kFirstSwitchPorts) {
    return misfit(fmt::format("{} hosts for programs; the switch of a fabric has ports for {}", programs,
                              nic::kFirstSwitchPorts));
  }
  const std::size_t frame_bytes = needs.link_mtu + kEthernetHeaderBytes;
  if (frame_bytes > network::kMaxFrameBytes) {
    return misfit(fmt::format("a network carries packets of up to {} bytes; give --mtu so many or less",
                              network::kMaxFrameBytes - kEthernetHeaderBytes));
  }
  for (const network::Host& host : topology.hosts) {
    if (host.queue_bytes >= frame_bytes) continue;
    return misfit(
        fmt::format("the queue of host {}, {} bytes, does not hold a frame of {}; make it longer, or "
                    "give a smaller --mtu",
                    host.name, host.queue_bytes, frame_bytes));
  }
  return success();
}

}  // namespace

Result<network::Topology, Error> read_network(const std::string& path, const FabricNeeds& needs) {
  const auto text = read_text_file(path);
  if (!text) return text.error();
  const auto in_file = [&](const Error& error) {
    return Error{.code = error.code, .message = fmt::format("{}: {}", path, error.message)};
  };
  auto topology = network::parse_topology(text.value());
  if (!topology) return in_file(topology.error());
  if (const auto faults = drivers::NetworkFaults::create(topology.value()); !faults) {
    return in_file(faults.error());
  }
  if (const auto fits = check_needs(topology.value(), needs); !fits) return in_file(fits.error());
  return topology;
}

}  // namespace urnic::tools
