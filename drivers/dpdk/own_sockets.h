// Finds sockets of this process that a DPDK driver opened and does not hand out.
#pragma once

#include <string>
#include <vector>

namespace urnic::drivers {

/// Unix stream sockets whose other end is bound to a path that ends in `suffix`.
std::vector<int> connections_to(const std::string& suffix);
/// AF_PACKET sockets bound to the network interface with this index.
std::vector<int> packet_sockets_on(int interface_index);

}  // namespace urnic::drivers
