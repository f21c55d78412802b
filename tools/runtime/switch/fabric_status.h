// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a switch tells about itself, as a value and as JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "drivers/fabric/switch.h"
#include "nic/host/lease_slots.h"
#include "nic/port/packet_port.h"

namespace urnic::tools {

struct PortStatus {
  unsigned slot = 0;
  nic::LeaseRecord holder;  ///< empty: an uplink
  std::string description;  ///< empty: its program has not opened its NIC yet
  nic::PacketPort::Statistics traffic;
  drivers::Switch::Counters counters;
  std::vector<transport::wire::Mac> macs;  ///< that were seen at it
};

struct FabricStatus {
  std::string name;
  unsigned number = 0;  ///< of the switch
  int process = 0;
  std::uint16_t link_mtu = 0;
  std::chrono::seconds uptime{0};
  std::vector<PortStatus> ports;     ///< those that a program has
  std::optional<PortStatus> uplink;  ///< of all switches but the first their trunk
  nlohmann::json network;            ///< as describe_network() has it; null: frames take no time
};

/// What the switch knows of a port. On the switch's thread.
PortStatus port_status(drivers::Switch& it, drivers::Switch::PortNumber number);

/// One JSON object. `urnic fabric status --json` puts it together with the objects of the fabric's other
/// switches.
std::string to_json(const FabricStatus& status);

}  // namespace urnic::tools
