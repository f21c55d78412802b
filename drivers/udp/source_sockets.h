// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SourceSockets: the sockets that packets leave from, one for each source address and port.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "drivers/descriptor.h"
#include "drivers/udp/local_addresses.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// Each queue pair has a UDP source port of its own (fact 6), so that networks spread their traffic, and a
/// socket sends from the port that it is bound to. Those used lately stay open. One thread at a time. Opening
/// one takes a few system calls.
class SourceSockets {
 public:
  /// Where `is_shared`, other processes of this host send from these addresses and ports as well. `addresses`
  /// must outlive it.
  SourceSockets(const LocalAddresses& addresses, bool is_shared)
      : addresses_(addresses), is_shared_(is_shared) {}

  /// The socket, borrowed until the next call; -1 when another program has that port, or there are no more
  /// descriptors.
  int find(const transport::wire::Gid& source, std::uint16_t port);

 private:
  struct Entry {
    transport::wire::Gid source;
    std::uint16_t port = 0;
    Descriptor socket;
    std::uint64_t used_at = 0;
  };
  /// 64 places of four: a NIC with up to some 100 busy queue pairs opens no socket again.
  static constexpr std::size_t kPlaces = 64;
  static constexpr std::size_t kWays = 4;

  const LocalAddresses& addresses_;
  bool is_shared_;
  std::uint64_t uses_ = 0;
  std::array<std::array<Entry, kWays>, kPlaces> entries_;
};

}  // namespace urnic::drivers
