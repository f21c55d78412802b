// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ProbeSocket: a UDP socket whose packets no router may cut into fragments.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "drivers/descriptor.h"
#include "tools/inspection/doctor/probe_message.h"
#include "transport/result.h"

namespace urnic::tools {

/// Of an AF_INET or AF_INET6 address.
ProbeSender sender_of(const sockaddr_storage& address);

class ProbeSocket {
 public:
  /// Of AF_INET or AF_INET6, the latter for IPv6 alone. The error is the system's.
  static Result<ProbeSocket, Error> open(int family);

  /// From now on it has the RoCE port of all addresses. EADDRINUSE: another socket has it.
  Result<void, Error> bind_to_roce_port();
  /// From now on it speaks with this address alone, and hears what ICMP says of it.
  Result<void, Error> connect_to(const sockaddr_storage& peer);

  /// Sends the message in an IP packet of so many bytes (those that the message needs, at least), to `to`, or
  /// to the address it is connected with. 0, or an errno value: EMSGSIZE when the interface, or a router that
  /// said so, carries less.
  int send(const ProbeMessage& message, std::size_t packet_bytes, const sockaddr_storage* to = nullptr) const;

  /// From where it sends, once it is connected.
  ProbeSender own_address() const;

  struct Received {
    ProbeMessage message;
    std::size_t packet_bytes = 0;  ///< IP header included
    sockaddr_storage from{};
  };
  /// Waits for the next message; other datagrams are passed over, however many come. Nothing: the time is
  /// over, or `error` is set to what the system says (ECONNREFUSED: the peer has no such port).
  std::optional<Received> receive(std::chrono::milliseconds at_most, int& error) const;

  int fd() const { return socket_.get(); }

 private:
  ProbeSocket(drivers::Descriptor socket, int family) : socket_(std::move(socket)), family_(family) {}
  std::size_t header_bytes() const { return family_ == AF_INET ? 20 + 8 : 40 + 8; }

  drivers::Descriptor socket_;
  int family_;
};

}  // namespace urnic::tools
