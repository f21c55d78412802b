// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Datagram services and multicast groups.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <variant>

#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;

class DatagramService : public CmTest {
 protected:
  static const DatagramParameters& datagrams(const Event& event) {
    return std::get<DatagramParameters>(event.parameters);
  }
};

TEST_F(DatagramService, TellsItsQueuePair) {
  passive.listen(kPort, 0, Service::kUd);
  const IdNumber id = routed(kPort, Service::kUd);
  ASSERT_EQ(connect(id, "hello"), 0);
  pair.settle();
  const Event request = passive.take(EventType::kConnectRequest);
  EXPECT_EQ(datagrams(request).private_data.size, 180);
  ASSERT_EQ(accept(request.id), 0);
  pair.settle();
  const Event established = active.take(EventType::kEstablished);
  EXPECT_EQ(datagrams(established).qp, transport::QpNumber{0x222});
  EXPECT_EQ(datagrams(established).qkey, 0x01234567u);
  EXPECT_EQ(datagrams(established).address.destination, address_of(2).address);
  EXPECT_EQ(datagrams(established).private_data.size, 136);
  EXPECT_FALSE(passive.has_event());
}

TEST_F(DatagramService, ThatNobodyOffersOrThatRefusesIsUnreachable) {
  const IdNumber id = routed(kPort, Service::kUd);
  ASSERT_EQ(connect(id), 0);
  pair.pass(300ms);
  EXPECT_EQ(active.take(EventType::kUnreachable).status, 1);

  passive.listen(kPort, 0, Service::kUd);
  const IdNumber other = routed(kPort, Service::kUd);
  ASSERT_EQ(connect(other), 0);
  pair.settle();
  const IdNumber request = passive.take(EventType::kConnectRequest).id;
  EXPECT_TRUE(passive.cm().reject(passive.channel(), request, 0, {}, passive.now()));
  pair.settle();
  EXPECT_EQ(active.take(EventType::kUnreachable).status, 2);
}

TEST_F(DatagramService, IsNotRejectedByTheSideThatAsked) {
  passive.listen(kPort, 0, Service::kUd);
  const IdNumber id = routed(kPort, Service::kUd);
  ASSERT_EQ(connect(id), 0);
  EXPECT_EQ(Program::error_of(active.cm().reject(active.channel(), id, 0, {}, active.now())), EINVAL);
  pair.settle();
  ASSERT_EQ(accept(passive.take(EventType::kConnectRequest).id), 0);
  pair.settle();
  active.take(EventType::kEstablished);
}

TEST_F(DatagramService, ConnectionsAndDatagramsDoNotMix) {
  passive.listen(kPort, 0, Service::kUd);
  const IdNumber id = routed(kPort, Service::kRc);
  ASSERT_EQ(connect(id), 0);
  pair.pass(300ms);
  EXPECT_EQ(active.take(EventType::kRejected).status, 8);
}

TEST_F(DatagramService, JoiningAGroupSucceedsAtOnce) {
  const IdNumber id = active.create(0, Service::kUd);
  const SocketAddress group{.family = SocketAddress::Family::kIpv4,
                            .address = transport::wire::Ipv6Address::from_ipv4({{239, 77, 0, 1}})};
  const auto join = [&](const SocketAddress& address) {
    return active.cm().join(active.channel(), id, 0x6666, address, false, active.now());
  };
  EXPECT_EQ(Program::error_of(join(group)), EINVAL) << "not bound";
  ASSERT_TRUE(active.cm().bind(active.channel(), id, address_of(1)));
  EXPECT_EQ(Program::error_of(join(address_of(2))), EINVAL);
  const IdNumber membership = join(group).value();
  const Event event = active.take(EventType::kMulticastJoin);
  EXPECT_EQ(event.uid, 0x6666u);
  EXPECT_EQ(event.id, membership);
  EXPECT_EQ(datagrams(event).qp, transport::QpNumber{0xffffff});
  EXPECT_EQ(datagrams(event).address.destination, group.address);
  EXPECT_EQ(active.cm().leave(active.channel(), membership, active.now()).value(), 1u);
  EXPECT_EQ(Program::error_of(active.cm().leave(active.channel(), membership, active.now())), ENOENT);
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
