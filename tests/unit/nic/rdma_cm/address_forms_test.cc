// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The forms in which programs write addresses: mapped, scoped, wildcard, another interface's.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <vector>

#include "nic/diagnostics/connection_text.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"
#include "tests/unit/nic/rdma_cm/host_nic.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;
using transport::wire::Gid;
using Family = SocketAddress::Family;

const std::vector<HostAddress> kTwoInterfaces = {{gid("fe80::1"), "eth0", 2},
                                                 {gid("::ffff:10.1.0.1"), "eth0", 2},
                                                 {gid("fd01::1"), "eth0", 2},
                                                 {gid("fe80::2"), "eth1", 3},
                                                 {gid("::ffff:10.2.0.1"), "eth1", 3}};

TEST(AddressForms, AnIdIsBoundToWhatIsAnAddressOfTheNic) {
  const struct {
    SocketAddress address;
    int expected;
  } cases[] = {
      {ipv4(1, 1), 0},
      {ipv4(2, 1), 0},
      {ipv4(1, 9), EADDRNOTAVAIL},
      {ipv6("fd01::1"), 0},
      {ipv6("fd01::9"), EADDRNOTAVAIL},
      {ipv6("::ffff:10.1.0.1"), 0},
      {ipv6("::ffff:10.1.0.9"), EADDRNOTAVAIL},
      {ipv6("::"), 0},
      {ipv6("::ffff:0.0.0.0"), 0},
      {ipv6("fe80::1", 2), 0},
      {ipv6("fe80::2", 3), 0},
      {ipv6("fe80::1"), EINVAL},
      {ipv6("fe80::9"), EINVAL},
      {ipv6("fe80::1", 3), ENODEV},
      {ipv6("fe80::1", 77), ENODEV},
      {ipv6("fe80::9", 2), ENODEV},
  };
  HostNic nic(kTwoInterfaces);
  for (const auto& each : cases) {
    EXPECT_EQ(nic.bind(each.address), each.expected)
        << to_string(each.address) << " scope " << each.address.scope_id;
  }
}

// A host may have one address on two links.
TEST(AddressForms, ALinkLocalAddressOfTwoInterfacesIsThatOfEither) {
  HostNic nic({{gid("fe80::1"), "eth0", 2}, {gid("fe80::1"), "eth1", 3}});
  EXPECT_EQ(nic.bind(ipv6("fe80::1", 2)), 0);
  EXPECT_EQ(nic.bind(ipv6("fe80::1", 3)), 0);
  EXPECT_EQ(nic.bind(ipv6("fe80::1", 4)), ENODEV);
}

TEST(AddressForms, WithoutASourceTheRoutesChooseOne) {
  HostNic nic(kTwoInterfaces);
  nic.route("::ffff:10.2.0.5", "::ffff:10.2.0.1");
  nic.route("fe80::5", "fe80::2");
  const IdNumber id = nic.create();
  EXPECT_EQ(nic.resolve(id, {}, ipv4(2, 5)), 0);
  EXPECT_EQ(nic.local(id).address, gid("::ffff:10.2.0.1"));
  EXPECT_EQ(nic.asked()->source, Gid{});
  EXPECT_EQ(nic.resolve({}, ipv6("fe80::5", 3)), 0);
  EXPECT_EQ(nic.asked()->scope, 3u);
}

TEST(AddressForms, WithASourceThatNoRouteLeadsFromTheProgramHearsItAtOnce) {
  HostNic nic(kTwoInterfaces);
  EXPECT_EQ(nic.resolve(ipv4(1, 1), ipv4(77, 1)), -ENETUNREACH);
  EXPECT_EQ(nic.asked()->source, gid("::ffff:10.1.0.1"));
  EXPECT_EQ(nic.resolve({}, ipv4(77, 1)), -ENETUNREACH);
  nic.route("::ffff:10.77.0.1", "::ffff:10.2.0.1");
  const IdNumber id = nic.create();
  EXPECT_EQ(nic.resolve(id, ipv4(1, 1), ipv4(77, 1)), 0);
  EXPECT_EQ(nic.local(id).address, gid("::ffff:10.1.0.1")) << "it is the program's choice";
}

TEST(AddressForms, ThePeersInterfaceIsThatOfTheSource) {
  HostNic nic(kTwoInterfaces);
  nic.route("fe80::5", "fe80::2");
  EXPECT_EQ(nic.resolve(ipv6("fe80::2", 3), ipv6("fe80::5")), 0);
  EXPECT_EQ(nic.asked()->scope, 3u);
}

TEST(AddressForms, AMappedDestinationIsReachedFromAnIpv4Address) {
  HostNic nic(kTwoInterfaces);
  nic.route("::ffff:10.2.0.5", "::ffff:10.2.0.1");
  const IdNumber id = nic.create();
  EXPECT_EQ(nic.resolve(id, {}, ipv6("::ffff:10.2.0.5")), 0);
  EXPECT_EQ(nic.local(id).address, gid("::ffff:10.2.0.1"));
  EXPECT_EQ(nic.local(id).family, Family::kIpv6) << "as the program wrote the other end";
  EXPECT_EQ(nic.resolve(ipv6("::ffff:10.2.0.1"), ipv6("::ffff:10.2.0.5")), 0);
  EXPECT_EQ(nic.resolve(ipv4(2, 1), ipv6("::ffff:10.2.0.5")), 0);
}

TEST(AddressForms, AMappedDestinationNeedsAnIpv4Address) {
  HostNic nic({{gid("fd01::1"), "eth0", 2}});
  nic.route("::ffff:10.2.0.5", "::ffff:10.2.0.1");
  EXPECT_EQ(nic.resolve({}, ipv6("::ffff:10.2.0.5")), -ENETUNREACH);
  EXPECT_EQ(nic.resolve({}, ipv6("::ffff:127.0.0.1")), -ENETUNREACH);
}

TEST(AddressForms, AnIpv6DestinationIsNotReachedFromAnIpv4Address) {
  HostNic nic({{gid("::ffff:10.1.0.1"), "eth0", 2}});
  EXPECT_EQ(nic.resolve({}, ipv6("::1")), -ENETUNREACH) << "index 0 has the IPv4 address again";
}

TEST(AddressForms, SourceAndDestinationAreOfOneKind) {
  HostNic nic(kTwoInterfaces);
  EXPECT_EQ(nic.resolve(ipv6("fd01::1"), ipv4(1, 5)), EINVAL);
  EXPECT_EQ(nic.resolve(ipv4(1, 1), ipv6("fd01::5")), EINVAL);
  EXPECT_EQ(nic.resolve(ipv6("fd01::1"), ipv6("::ffff:10.1.0.5")), EINVAL);
}

class Listening final : public ConnectionObserver {
 public:
  void on_connection_failure(const ConnectionFailure& failure) override { last = failure; }
  std::optional<ConnectionFailure> last;
};

TEST(AddressForms, WhoWatchesLearnsThatThereIsNoRoute) {
  HostNic nic(kTwoInterfaces);
  Listening observer;
  nic.set_observer(observer);
  EXPECT_EQ(nic.resolve({}, ipv4(77, 1)), -ENETUNREACH);
  ASSERT_TRUE(observer.last);
  EXPECT_EQ(observer.last->kind, ConnectionFailure::Kind::kNoRoute);
  EXPECT_EQ(what_connection_failed(*observer.last), "the address 10.77.0.1:0 is not resolved");
  EXPECT_EQ(why_no_connection({.connection = observer.last}),
            "this host has no way to 10.77.0.1: Network is unreachable");
}

/// Two NICs with addresses of their own.
class MappedAddress : public CmTest {
 protected:
  static SocketAddress mapped(std::uint8_t host, std::uint16_t port = 0) {
    SocketAddress address = address_of(host, port);
    address.family = Family::kIpv6;
    return address;
  }
  /// From A to B's `port`, at that address.
  IdNumber connect_to(const SocketAddress& peer) {
    const IdNumber id = active.create(0xac);
    EXPECT_EQ(active.resolve(id, peer), 0);
    pair.settle();
    active.take(EventType::kAddressResolved);
    EXPECT_TRUE(active.cm().resolve_route(active.channel(), id, 2s));
    active.take(EventType::kRouteResolved);
    EXPECT_EQ(connect(id), 0);
    pair.settle();
    return id;
  }
};

TEST_F(MappedAddress, ConnectsByIpv4) {
  passive.listen();
  const IdNumber id = connect_to(mapped(2, kPort));
  const IdNumber request = passive.take(EventType::kConnectRequest).id;
  const Description seen = passive.cm().query(passive.channel(), request).value();
  EXPECT_EQ(seen.peer.family, Family::kIpv4) << "the request says IPv4";
  EXPECT_EQ(seen.peer.address, address_of(1).address);
  EXPECT_EQ(active.cm().query(active.channel(), id).value().local.address, address_of(1).address);
}

TEST_F(MappedAddress, OfAListenerIsFoundByIpv4) {
  const IdNumber listener = passive.create();
  ASSERT_TRUE(passive.cm().bind(passive.channel(), listener, mapped(2, kPort)));
  ASSERT_TRUE(passive.cm().listen(passive.channel(), listener, 0));
  connect_to(address_of(2, kPort));
  passive.take(EventType::kConnectRequest);
}

TEST_F(MappedAddress, TakesThePortFromIpv4) {
  SocketAddress any = mapped(0, kPort);
  any.address = any_address().address;
  ASSERT_TRUE(active.cm().bind(active.channel(), active.create(), any));
  EXPECT_EQ(Program::error_of(active.cm().bind(active.channel(), active.create(), address_of(1, kPort))),
            EADDRNOTAVAIL);
  const SocketAddress link_local{
      .family = Family::kIpv6, .address = *pair.a().device().gids().at(0), .port = kPort};
  EXPECT_TRUE(active.cm().bind(active.channel(), active.create(), link_local))
      << "a NIC on no interface has one link, which needs no name, and IPv4's any address is none of IPv6's";
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
