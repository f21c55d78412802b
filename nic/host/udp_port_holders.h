// Who has a UDP port on this host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace urnic::nic {

struct UdpPortHolder {
  bool is_kernel = false;  ///< rdma_rxe's, for one
  unsigned uid = 0;        ///< else whose program it is

  friend bool operator==(const UdpPortHolder&, const UdpPortHolder&) = default;
};

/// In a table as /proc/net/udp and udp6 are.
std::vector<UdpPortHolder> udp_port_holders_of(const std::string& table, std::uint16_t port);
/// In this process's network namespace.
std::vector<UdpPortHolder> udp_port_holders(std::uint16_t port);

}  // namespace urnic::nic
