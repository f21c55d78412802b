// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/open_port.h"

#include <fmt/core.h>
#include <rte_config.h>

#include <cerrno>

#include "drivers/dpdk/af_packet.h"
#include "drivers/dpdk/eal.h"
#include "drivers/dpdk/pci.h"
#include "drivers/dpdk/vhost_user.h"
#include "nic/host/fabric_slots.h"

namespace urnic::drivers {

namespace {

// What IPv6 demands.
constexpr std::uint16_t kMinLinkMtu = 1280;

// A switch has a device for each NIC; the first one has one for each other switch and the uplink, the others
// have one for their trunk.
static_assert(nic::kFirstSwitchPorts + nic::kFabricSwitches - 1 + 1 <= RTE_MAX_ETHPORTS);
static_assert(nic::kOtherSwitchPorts + 1 <= RTE_MAX_ETHPORTS);

}  // namespace

Result<std::unique_ptr<nic::PacketPort>, Error> open_dpdk_port(const nic::PortSpec& spec,
                                                               std::uint16_t link_mtu,
                                                               const DpdkOptions& options) {
  if (link_mtu < kMinLinkMtu || link_mtu > kMaxLinkMtu) {
    return Error{EINVAL, fmt::format("a link MTU of {} bytes is not within {} and {}", link_mtu, kMinLinkMtu,
                                     kMaxLinkMtu)};
  }
  if (spec.kind == nic::PortSpec::Kind::kPci) return open_pci(spec.target, link_mtu, options);
  if (const auto started = start_eal(options); !started) return started.error();
  switch (spec.kind) {
    case nic::PortSpec::Kind::kVhost:
      return spec.side == nic::PortSpec::VhostSide::kFront
                 ? open_vhost_front(spec.target, link_mtu, options.waits_for_first_peer)
                 : open_vhost_back(spec.target, link_mtu);
    case nic::PortSpec::Kind::kAfPacket:
      return open_af_packet(spec.target, link_mtu);
    case nic::PortSpec::Kind::kFabric:  // its ports are vhost wires, see join_fabric()
    case nic::PortSpec::Kind::kAfXdp:
    case nic::PortSpec::Kind::kPci:
    case nic::PortSpec::Kind::kLoopback:
    case nic::PortSpec::Kind::kUdp:
    case nic::PortSpec::Kind::kHost:
    case nic::PortSpec::Kind::kBench:
      break;
  }
  return Error{EINVAL, "this kind of port is not made by DPDK"};
}

}  // namespace urnic::drivers
