// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the switch of a host tells about itself, as a value and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/host/connection_requests.h"
#include "drivers/host/host_ports.h"

namespace urnic::drivers {

struct HostStatus {
  struct Member {
    unsigned slot = 0;
    int process = 0;
    std::vector<HostPorts::Held> ports;
  };

  /// Packets for a process that came here.
  struct Passed {
    std::uint64_t handed_over = 0;
    std::uint64_t lost = 0;  ///< the process has no room for more, or has ended
  };

  int process = 0;  ///< the switch's
  bool has_ipv6 = false;
  std::uint16_t udp_port = 0;
  unsigned open_slots = 0;  ///< that have sockets, the switch's own included
  std::vector<Member> members;
  ConnectionRequests::Counters requests;
  Passed messages;  ///< of connection managers
  Passed strays;    ///< that came to another process first
};

/// One JSON object on one line.
std::string to_json(const HostStatus& status);

}  // namespace urnic::drivers
