// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UdpProbe: a datagram that finds out whether a host is there, by a UDP socket of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "drivers/descriptor.h"
#include "nic/port/host_probe.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {

/// The socket is connected and has a port of its own, so that the kernel gives it what ICMP says of its
/// datagram, which it could not with the ports that the processes of a host share. See nic::HostProbe. One
/// thread at a time.
class UdpProbe final : public nic::HostProbe {
 public:
  /// Sends to `port` of the destination; the source must be named.
  static std::unique_ptr<nic::HostProbe> send(const nic::Way& way,
                                              std::uint16_t port = transport::wire::kRocePort);

  Seen look() override;

 private:
  explicit UdpProbe(Descriptor socket, int error) : socket_(std::move(socket)), error_(error) {}

  Descriptor socket_;
  int error_;
  bool has_waited_ = false;  // for the next hop, when it was looked at last
};

}  // namespace urnic::drivers
