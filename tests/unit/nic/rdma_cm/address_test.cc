// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Addresses and ports of ids.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>

#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;

class Address : public CmTest {
 protected:
  int bind(IdNumber id, const SocketAddress& address) {
    return Program::error_of(active.cm().bind(active.channel(), id, address));
  }
  SocketAddress local(IdNumber id) { return active.cm().query(active.channel(), id).value().local; }
};

TEST_F(Address, AnIdIsBoundToAnAddressOfTheNic) {
  const IdNumber id = active.create();
  EXPECT_EQ(bind(id, address_of(9)), EADDRNOTAVAIL);
  EXPECT_EQ(bind(id, address_of(1)), 0);
  EXPECT_EQ(local(id).address, address_of(1).address);
  EXPECT_GE(local(id).port, 32768);
  EXPECT_EQ(bind(id, address_of(1)), EINVAL);
}

TEST_F(Address, IdsAtAnAddressHearThatItsInterfaceHasAnotherMac) {
  const IdNumber id = active.create(7);
  ASSERT_EQ(bind(id, address_of(1)), 0);
  ASSERT_EQ(bind(active.create(8), any_address(kPort)), 0);
  active.cm().on_address_moved(address_of(2).address);
  EXPECT_FALSE(active.cm().next_event(active.channel()));
  active.cm().on_address_moved(address_of(1).address);
  EXPECT_EQ(active.take(EventType::kAddressChange).id, id);
  EXPECT_FALSE(active.cm().next_event(active.channel())) << "the other one is at no address of its own";
}

TEST_F(Address, IsNearToTheNicThatHasItOrItsNetwork) {
  using Nearness = RdmaCm::Nearness;
  EXPECT_EQ(active.cm().nearness_of(address_of(1)), Nearness::kOwn);
  EXPECT_EQ(active.cm().nearness_of(address_of(2)), Nearness::kOnNetwork);
  const SocketAddress elsewhere{.family = SocketAddress::Family::kIpv4,
                                .address = transport::wire::Ipv6Address::from_ipv4({{10, 0, 1, 1}})};
  EXPECT_EQ(active.cm().nearness_of(elsewhere), Nearness::kElsewhere);
}

TEST_F(Address, AnyAddressIsNoneOfTheNic) {
  const IdNumber id = active.create();
  ASSERT_EQ(bind(id, any_address(kPort)), 0);
  EXPECT_FALSE(active.cm().query(active.channel(), id).value().is_on_device);
}

TEST_F(Address, APortIsTakenOnceUnlessItMayBeShared) {
  EXPECT_EQ(bind(active.create(), address_of(1, kPort)), 0);
  EXPECT_EQ(bind(active.create(), address_of(1, kPort)), EADDRINUSE);
  EXPECT_EQ(bind(active.create(), any_address(kPort)), EADDRNOTAVAIL);
  EXPECT_EQ(bind(active.create(1, Service::kUd), any_address(kPort)), 0) << "another port space";

  const auto shared = [this] {
    const IdNumber id = active.create();
    EXPECT_TRUE(active.cm().set_reuse_address(active.channel(), id, true));
    return id;
  };
  const IdNumber first = shared();
  const IdNumber second = shared();
  EXPECT_EQ(bind(first, address_of(1, kPort + 1)), 0);
  EXPECT_EQ(bind(second, address_of(1, kPort + 1)), 0);
  EXPECT_TRUE(active.cm().listen(active.channel(), first, 1));
  EXPECT_EQ(Program::error_of(active.cm().listen(active.channel(), second, 1)), EADDRINUSE);
}

TEST_F(Address, APortIsFreeAgainWhenItsIdIsDestroyed) {
  const IdNumber id = active.create();
  ASSERT_EQ(bind(id, any_address(kPort)), 0);
  EXPECT_TRUE(active.cm().destroy_id(active.channel(), id, active.now()));
  EXPECT_EQ(bind(active.create(), any_address(kPort)), 0);
}

TEST_F(Address, APeerThatNobodyAnswersForIsNotResolved) {
  const IdNumber id = active.create();
  ASSERT_EQ(active.resolve(id, address_of(77, kPort)), 0);
  pair.pass(3s);
  const Event event = active.take(EventType::kAddressError);
  EXPECT_TRUE(event.status == -EHOSTUNREACH || event.status == -ETIMEDOUT);
  // It may be tried again.
  EXPECT_EQ(active.resolve(id, address_of(2, kPort)), 0);
  pair.settle();
  active.take(EventType::kAddressResolved);
}

TEST_F(Address, WhatFailedBeforeIsNoAnswer) {
  bool is_there = false;
  pair.wire.is_lost = [&](std::size_t, const FakeWire::Bytes&) { return !is_there; };
  const IdNumber id = active.create();
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_EQ(active.resolve(id, address_of(2, kPort)), 0);
    pair.pass(1499ms);
    EXPECT_FALSE(active.has_event()) << "too early, in attempt " << attempt;
    pair.pass(1ms);
    active.take(EventType::kAddressError);
  }
  is_there = true;
  ASSERT_EQ(active.resolve(id, address_of(2, kPort)), 0);
  pair.settle();
  active.take(EventType::kAddressResolved);
}

TEST_F(Address, OfAFamilyThatTheNicHasNotIsUnreachable) {
  const IdNumber id = active.create();
  const SocketAddress peer{.family = SocketAddress::Family::kIpv6,
                           .address = *transport::wire::Ipv6Address::parse("fd77::3"),
                           .port = kPort};
  ASSERT_EQ(active.resolve(id, peer), 0);
  pair.pass(3s);
  EXPECT_EQ(active.take(EventType::kAddressError).id, id);
}

TEST_F(Address, OtherChannelsIdsAreNoneOfOurs) {
  const IdNumber id = active.create();
  Program other(pair.a());
  EXPECT_EQ(Program::error_of(other.cm().query(other.channel(), id)), EINVAL);
  EXPECT_EQ(Program::error_of(other.cm().query(other.channel(), IdNumber{4711})), ENOENT);
  EXPECT_EQ(Program::error_of(other.cm().destroy_id(other.channel(), id, other.now())), EINVAL);
}

TEST_F(Address, AnIdMovesToAnotherChannelWithItsEvents) {
  const IdNumber id = active.create();
  ASSERT_EQ(active.resolve(id, address_of(2, kPort)), 0);
  pair.settle();
  Program other(pair.a());
  EXPECT_EQ(active.cm().migrate_id(active.channel(), id, other.channel()).value(), 0u);
  EXPECT_FALSE(active.has_events());
  EXPECT_TRUE(other.has_events());
  other.take(EventType::kAddressResolved);
  EXPECT_TRUE(other.cm().query(other.channel(), id));
}

TEST_F(Address, APortSpaceIsForItsKindOfQueuePair) {
  const auto create = [this](PortSpace space, Service service) {
    return Program::error_of(active.cm().create_id(active.channel(), 0, space, service));
  };
  EXPECT_EQ(create(PortSpace::kTcp, Service::kUd), EINVAL);
  EXPECT_EQ(create(PortSpace::kUdp, Service::kRc), EINVAL);
  EXPECT_EQ(create(PortSpace::kIb, Service::kUd), 0);
  EXPECT_EQ(create(PortSpace::kIb, Service::kXrc), 0);
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
