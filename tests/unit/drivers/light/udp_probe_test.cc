// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a probe finds out about ports of this host, which the loopback leads to.
#include "drivers/udp/udp_probe.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "drivers/udp/socket.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using transport::wire::Gid;

const Gid kHere = Gid::from_ipv4({{127, 0, 0, 1}});
const Gid kHereIpv6{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

/// A socket at a port that the kernel chooses; nothing where the host has no such address.
std::optional<Descriptor> listen_at(const Gid& address) {
  auto socket = open_udp_socket(address, 0, 0);
  if (!socket) return std::nullopt;
  return std::move(socket.value());
}

std::uint16_t port_of(const Descriptor& socket) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof name;
  EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &bytes), 0);
  return ntohs(name.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(name).sin_port
                                         : reinterpret_cast<sockaddr_in6&>(name).sin6_port);
}

/// Looks until the condition is true, or for a second.
template <typename Condition>
bool looks_until(nic::HostProbe& probe, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + 1s;
  while (std::chrono::steady_clock::now() < end) {
    if (condition(probe.look())) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

TEST(UdpProbe, FindsAHostAndNothingWrongWithAnOpenPort) {
  for (const Gid& here : {kHere, kHereIpv6}) {
    const auto there = listen_at(here);
    if (!there) continue;
    const auto probe = UdpProbe::send({.destination = here, .source = here}, port_of(*there));
    ASSERT_NE(probe, nullptr);
    EXPECT_TRUE(looks_until(*probe, [](const auto& seen) { return seen.is_found; }));
    std::byte byte{};
    EXPECT_EQ(recv(there->get(), &byte, sizeof byte, 0), 0) << "the datagram is empty";
    EXPECT_EQ(probe->look().error, 0);
  }
}

TEST(UdpProbe, HearsThatAPortIsClosed) {
  for (const Gid& here : {kHere, kHereIpv6}) {
    auto there = listen_at(here);
    if (!there) continue;
    const std::uint16_t port = port_of(*there);
    there.reset();
    const auto probe = UdpProbe::send({.destination = here, .source = here}, port);
    ASSERT_NE(probe, nullptr);
    EXPECT_TRUE(looks_until(*probe, [](const auto& seen) { return seen.error == ECONNREFUSED; }));
    EXPECT_EQ(probe->look().error, ECONNREFUSED) << "it does not forget";
  }
}

TEST(UdpProbe, IsNoneFromAnAddressThatTheHostHasNot) {
  const Gid of_documents = Gid::from_ipv4({{192, 0, 2, 1}});  // RFC 5737
  EXPECT_EQ(UdpProbe::send({.destination = kHere, .source = of_documents}), nullptr);
}

}  // namespace
}  // namespace urnic::drivers
