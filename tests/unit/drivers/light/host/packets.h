// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Packets for the tests of a host's switch, made with the NIC's own wire code.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drivers/descriptor.h"
#include "nic/cm/message.h"
#include "nic/rdma_cm/private_header.h"
#include "transport/wire/frame.h"
#include "transport/wire/packet.h"

namespace urnic::drivers::test {

using Bytes = std::vector<std::byte>;
namespace wire = transport::wire;

inline const wire::Gid kLocalIpv4 = wire::Gid::from_ipv4({{127, 0, 0, 1}});
inline const wire::Gid kLocalIpv6{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

/// BTH to the end of a packet for the queue pair.
inline Bytes packet_to(std::uint32_t qp, std::span<const std::byte> payload = {}) {
  const wire::Packet packet{
      .bth = {.opcode = wire::Opcode::kUdSendOnly, .destination_qp = transport::QpNumber{qp}},
      .deth = {.qkey = 0x80010000, .source_qp = transport::QpNumber{1}}};
  Bytes bytes(wire::header_bytes(packet.bth.opcode));
  emit_headers(packet, bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

inline Bytes packet_with(const nic::cm::Message& message) {
  return packet_to(1, nic::cm::write({.transaction_id = 1, .message = message}));
}

inline nic::cm::Req request_to(nic::rdma_cm::PortSpace space, std::uint16_t port) {
  return {.local_id = nic::cm::CommunicationId{0x05000001},
          .service_id = nic::rdma_cm::service_id_of(space, port),
          .path_mtu = transport::PathMtu::k1024};
}

/// The whole IP packet: what `ib` is in, with its ICRC.
inline Bytes ip_packet(std::span<const std::byte> ib, const wire::Gid& source, const wire::Gid& destination,
                       std::uint16_t source_port = 50000, std::uint16_t identification = 0) {
  wire::Frame frame;
  if (source.is_ipv4_mapped()) {
    frame.ip = wire::Ipv4{
        .identification = identification, .source = source.ipv4(), .destination = destination.ipv4()};
  } else {
    frame.ip = wire::Ipv6{.source = source, .destination = destination};
  }
  frame.udp.source_port = source_port;
  frame.ib = ib;
  frame.icrc = icrc_of(frame);
  Bytes bytes(ib.size() + 128);
  bytes.resize(emit_frame(frame, bytes));
  bytes.erase(bytes.begin(), bytes.begin() + wire::Ethernet::kMinBytes);
  return bytes;
}

/// A UDP socket on the loopback, to send from.
class LocalSender {
 public:
  explicit LocalSender(bool is_ipv4)
      : is_ipv4_(is_ipv4), socket_(socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_storage own = address(0);
    bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), bytes());
  }

  /// Sends a datagram to that port.
  void send(std::span<const std::byte> datagram, std::uint16_t port) const {
    const sockaddr_storage to = address(port);
    sendto(socket_.get(), datagram.data(), datagram.size(), 0, reinterpret_cast<const sockaddr*>(&to),
           bytes());
  }
  /// Sends `ib` with the ICRC that the receiver expects, without IP and UDP headers. Returns the whole IP
  /// packet.
  Bytes send_with_icrc(std::span<const std::byte> ib, std::uint16_t port) const {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own), &size);
    const std::uint16_t source_port = ntohs(is_ipv4_ ? reinterpret_cast<const sockaddr_in&>(own).sin_port
                                                     : reinterpret_cast<const sockaddr_in6&>(own).sin6_port);
    const wire::Gid& here = is_ipv4_ ? kLocalIpv4 : kLocalIpv6;
    Bytes packet = ip_packet(ib, here, here, source_port);
    const std::size_t headers = packet.size() - ib.size() - 4;  // the ICRC
    send(std::span(packet).subspan(headers), port);
    return packet;
  }

 private:
  sockaddr_storage address(std::uint16_t port) const {
    sockaddr_storage storage{};
    if (is_ipv4_) {
      auto& ipv4 = reinterpret_cast<sockaddr_in&>(storage);
      ipv4.sin_family = AF_INET;
      ipv4.sin_port = htons(port);
      ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      auto& ipv6 = reinterpret_cast<sockaddr_in6&>(storage);
      ipv6.sin6_family = AF_INET6;
      ipv6.sin6_port = htons(port);
      ipv6.sin6_addr = IN6ADDR_LOOPBACK_INIT;
    }
    return storage;
  }
  socklen_t bytes() const {
    return is_ipv4_ ? socklen_t{sizeof(sockaddr_in)} : socklen_t{sizeof(sockaddr_in6)};
  }

  bool is_ipv4_;
  Descriptor socket_;
};

/// A UDP port that no socket of this host has now.
inline std::uint16_t free_udp_port() {
  const Descriptor any(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  socklen_t bytes = sizeof address;
  bind(any.get(), reinterpret_cast<const sockaddr*>(&address), bytes);
  getsockname(any.get(), reinterpret_cast<sockaddr*>(&address), &bytes);
  return ntohs(address.sin6_port);
}

}  // namespace urnic::drivers::test
