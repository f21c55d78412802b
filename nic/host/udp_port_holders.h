// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which sockets of this host are bound to a UDP port, and which processes have them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace urnic::nic {

struct UdpPortHolder {
  struct Process {
    int number = 0;
    std::string program;  ///< as the system calls it, 15 characters at most

    friend bool operator==(const Process&, const Process&) = default;
  };

  bool is_kernel = false;  ///< rdma_rxe's, for one, and no process's
  unsigned uid = 0;        ///< else whose socket it is
  std::uint64_t inode = 0;
  /// The processes that have a descriptor of it. Processes of other users or other pid namespaces do not
  /// show.
  std::vector<Process> processes{};

  friend bool operator==(const UdpPortHolder&, const UdpPortHolder&) = default;
};

/// The sockets in a table as /proc/net/udp and udp6 are, without their processes.
std::vector<UdpPortHolder> udp_port_holders_of(const std::string& table, std::uint16_t port);

/// The sockets in this process's network namespace, without their processes. Files of the system are read
/// below `root`.
std::vector<UdpPortHolder> udp_port_holders(std::uint16_t port, const std::string& root = "/");

/// With their processes: looks at every descriptor of every process that it may look at.
std::vector<UdpPortHolder> udp_port_holders_and_processes(std::uint16_t port, const std::string& root = "/");

/// "process 12 (prog), process 13 (prog)", each once, four at most, then "and others"; empty where none
/// shows.
std::string processes_text(const std::vector<UdpPortHolder>& holders);

}  // namespace urnic::nic
