// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/probe_socket.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "transport/wire/udp.h"

namespace urnic::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = 65536;

Error system_error(std::string_view what) {
  const int code = errno;
  return Error{.code = code, .message = fmt::format("{}: {}", what, std::generic_category().message(code))};
}

bool set_option(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

socklen_t size_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

}  // namespace

ProbeSender sender_of(const sockaddr_storage& address) {
  ProbeSender sender;
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    transport::wire::Ipv4Address octets;
    std::memcpy(octets.octets.data(), &ipv4.sin_addr, sizeof ipv4.sin_addr);
    return {.address = transport::wire::Gid::from_ipv4(octets), .port = ntohs(ipv4.sin_port)};
  }
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
  std::memcpy(sender.address.octets.data(), &ipv6.sin6_addr, sizeof ipv6.sin6_addr);
  sender.port = ntohs(ipv6.sin6_port);
  return sender;
}

// PROBE: with DF, and the kernel does not hold back what it believes to be too large for the path.
Result<ProbeSocket, Error> ProbeSocket::open(int family) {
  drivers::Descriptor socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_error("cannot make a UDP socket");
  const bool is_ready =
      family == AF_INET ? set_option(socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
                        : set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
                              set_option(socket.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
  if (!is_ready) return system_error("cannot forbid fragments");
  return ProbeSocket(std::move(socket), family);
}

Result<void, Error> ProbeSocket::bind_to_roce_port() {
  sockaddr_storage any{};
  any.ss_family = static_cast<sa_family_t>(family_);
  // At the same place in both kinds of addresses.
  reinterpret_cast<sockaddr_in&>(any).sin_port = htons(transport::wire::kRocePort);
  if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&any), size_of(any)) != 0) {
    return failure(system_error(fmt::format("cannot have UDP port {}", transport::wire::kRocePort)));
  }
  return success();
}

Result<void, Error> ProbeSocket::connect_to(const sockaddr_storage& peer) {
  if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&peer), size_of(peer)) != 0) {
    return failure(system_error("there is no route"));
  }
  return success();
}

ProbeSender ProbeSocket::own_address() const {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return {};
  return sender_of(own);
}

int ProbeSocket::send(const ProbeMessage& message, std::size_t packet_bytes,
                      const sockaddr_storage* to) const {
  const std::size_t least = header_bytes() + ProbeMessage::kBytes;
  std::vector<std::byte> datagram(std::clamp(packet_bytes, least, kMostBytes) - header_bytes());
  message.emit(datagram);
  const auto* const address = reinterpret_cast<const sockaddr*>(to);
  const ssize_t sent = sendto(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                              address, to != nullptr ? size_of(*to) : 0);
  return sent < 0 ? errno : 0;
}

std::optional<ProbeSocket::Received> ProbeSocket::receive(std::chrono::milliseconds at_most,
                                                          int& error) const {
  static thread_local std::array<std::byte, kMostBytes> datagram;
  const Clock::time_point end = Clock::now() + at_most;
  error = 0;
  do {
    Received received;
    socklen_t size = sizeof received.from;
    const ssize_t bytes = recvfrom(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&received.from), &size);
    if (bytes >= 0) {
      const auto message = ProbeMessage::parse(std::span(datagram).first(static_cast<std::size_t>(bytes)));
      if (!message) continue;
      received.message = *message;
      received.packet_bytes = header_bytes() + static_cast<std::size_t>(bytes);
      return received;
    }
    if (errno != EAGAIN && errno != EINTR) {
      error = errno;
      return std::nullopt;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd waiting{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0) return std::nullopt;
  } while (Clock::now() < end);
  return std::nullopt;
}

}  // namespace urnic::tools
