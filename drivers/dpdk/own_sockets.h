// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Finds sockets of this process that a DPDK driver opened and does not hand out.
#pragma once

#include <boost/container/small_vector.hpp>
#include <string_view>

namespace urnic::drivers {

/// File descriptors. A few are found without malloc: DPDK's threads look for sockets while the program runs,
/// and a thread's first malloc calls munmap, which libfabric's memory hooks may be overwriting just then.
using Sockets = boost::container::small_vector<int, 8>;

/// Unix stream sockets whose other end is bound to a path that ends in `suffix`.
Sockets connections_to(std::string_view suffix);
/// AF_PACKET sockets bound to the network interface with this index.
Sockets packet_sockets_on(int interface_index);

}  // namespace urnic::drivers
