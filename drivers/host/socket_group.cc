// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/socket_group.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/host/packet_filter.h"
#include "drivers/udp/socket.h"
#include "nic/host/random_bits.h"
#include "nic/host/udp_port_holders.h"
#include "transport/wire/address.h"

namespace urnic::drivers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPortPause = std::chrono::milliseconds(10);
/// A stranger may send faster than we drop.
constexpr unsigned kMostDrained = 1 << 16;
/// IPV6_MULTICAST_ALL of linux/in6.h, which the C library's headers do not have.
constexpr int kIpv6MulticastAll = 29;

bool set(int socket, int level, int option, int value) {
  return setsockopt(socket, level, option, &value, sizeof value) == 0;
}

/// A socket at that port of all addresses, which hears no groups: members' own sockets do.
Result<Descriptor, Error> open_socket(bool is_ipv4, std::uint16_t port, PortSharing sharing) {
  using transport::wire::Gid;
  auto made = open_udp_socket(is_ipv4 ? Gid::from_ipv4({}) : Gid{}, port, 0, sharing);
  if (!made) return made;
  const bool is_set_up = is_ipv4 ? set(made.value().get(), IPPROTO_IP, IP_MULTICAST_ALL, 0)
                                 : set(made.value().get(), IPPROTO_IPV6, kIpv6MulticastAll, 0);
  if (is_set_up) return made;
  const int code = errno;
  return Error{.code = code,
               .message = "cannot set up a UDP socket: " + std::generic_category().message(code)};
}

/// The processes of this user that have it, in words; empty: none, or they do not show.
std::string own_holders_of(std::uint16_t port) {
  std::vector<nic::UdpPortHolder> holders = nic::udp_port_holders_and_processes(port);
  std::erase_if(holders, [](const nic::UdpPortHolder& holder) { return holder.uid != geteuid(); });
  return nic::processes_text(holders);
}

Error port_is_taken(const Error& error, std::uint16_t port) {
  if (const std::string processes = own_holders_of(port); !processes.empty()) {
    return Error{.code = error.code,
                 .message = fmt::format("{}; RoCEv2 has this one port, and {} of yours has it: end it, or "
                                        "let programs of this host meet without it: --port fabric",
                                        error.message, processes)};
  }
  return Error{.code = error.code,
               .message = fmt::format(
                   "{}; RoCEv2 has this one port, and one of these holds it ('urnic doctor' finds out "
                   "which): the kernel's rdma_rxe while that module is loaded (rmmod rdma_rxe), a NIC with "
                   "--port udp, another user's programs, or a program of yours whose switch was killed. "
                   "Programs of this host meet without it: leave --port host away, or --port fabric",
                   error.message)};
}

bool is_without_ipv6(const Error& error) {
  return error.code == EAFNOSUPPORT || error.code == EADDRNOTAVAIL;
}

/// Only without SO_REUSEPORT one learns that sockets of an earlier group are left: among those, ours would
/// have other numbers than we think.
Result<void, Error> wait_for_port(bool is_ipv4, std::uint16_t port, std::chrono::milliseconds patience,
                                  bool& was_taken) {
  const auto give_up = Clock::now() + patience;
  for (;;) {
    const auto probe = open_socket(is_ipv4, port, PortSharing::kNone);
    if (probe) return success();
    if (probe.error().code != EADDRINUSE) return probe.error();
    if (Clock::now() > give_up) return port_is_taken(probe.error(), port);
    was_taken = true;
    std::this_thread::sleep_for(kPortPause);
  }
}

/// The kernel has one program for the whole group.
Result<void, Error> attach_filter(int socket, unsigned sockets) {
  std::vector<sock_filter> filter = make_packet_filter(sockets);
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) != 0) {
    const int code = errno;
    return Error{.code = code,
                 .message = fmt::format("cannot have the kernel tell packets apart: {}",
                                        std::generic_category().message(code))};
  }
  return success();
}

void drop_all(int socket) {
  char byte = 0;
  for (unsigned i = 0; i < kMostDrained; ++i) {
    const bool is_empty = recv(socket, &byte, sizeof byte, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    if (is_empty) return;
  }
}

}  // namespace

Result<SocketGroup, Error> SocketGroup::open(std::uint16_t port, std::chrono::milliseconds patience) {
  SocketGroup group(port);
  if (const auto is_free = wait_for_port(true, port, patience, group.was_taken_); !is_free) {
    return is_free.error();
  }
  if (const auto is_free = wait_for_port(false, port, patience, group.was_taken_); !is_free) {
    if (!is_without_ipv6(is_free.error())) return is_free.error();
    group.has_ipv6_ = false;
  }
  if (auto grown = group.grow(); !grown) return grown.error();
  return group;
}

// Not one that the system gives out to other programs (ip_local_port_range), nor one that queue pairs send
// from: sockets of one user share a port that is given out when both allow it.
Result<SocketGroup, Error> SocketGroup::open_elsewhere() {
  constexpr std::uint16_t kFirst = 20'000;
  constexpr std::uint16_t kPorts = 10'000;
  constexpr unsigned kMostTries = 200;
  for (unsigned i = 0; i < kMostTries; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirst + nic::random_bits() % kPorts);
    auto group = open(port, std::chrono::milliseconds(0));
    if (group || group.error().code != EADDRINUSE) return group;
  }
  return Error{.code = EADDRINUSE, .message = "no UDP port from 20000 to 29999 is free"};
}

// When something fails, the sockets that are closed again are the last ones, and all others keep their
// numbers.
Result<void, Error> SocketGroup::grow() {
  auto ipv4 = open_socket(true, port_, PortSharing::kGroup);
  if (!ipv4) return ipv4.error();
  if (auto attached = attach_filter(ipv4.value().get(), slots() + 1); !attached) return attached.error();
  if (has_ipv6_) {
    auto ipv6 = open_socket(false, port_, PortSharing::kGroup);
    if (!ipv6) return ipv6.error();
    if (auto attached = attach_filter(ipv6.value().get(), slots() + 1); !attached) return attached.error();
    ipv6_.push_back(std::move(ipv6.value()));
  }
  ipv4_.push_back(std::move(ipv4.value()));
  return success();
}

void SocketGroup::drain(unsigned slot) const {
  drop_all(ipv4(slot));
  if (has_ipv6_) drop_all(ipv6(slot));
}

void SocketGroup::lay_still(unsigned slot) const {
  // The kernel makes it the least that it allows.
  set(ipv4(slot), SOL_SOCKET, SO_RCVBUF, 0);
  if (has_ipv6_) set(ipv6(slot), SOL_SOCKET, SO_RCVBUF, 0);
  drain(slot);
}

}  // namespace urnic::drivers
