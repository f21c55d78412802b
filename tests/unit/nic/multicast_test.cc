// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Multicast groups of a device on the wire: what it says to switches and routers, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nic/path/multicast_reports.h"
#include "tests/unit/nic/path/multicast_host.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"
#include "transport/wire/byte_order.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using rdma_cm::EventType;
using rdma_cm::IdNumber;
using rdma_cm::Service;
using rdma_cm::SocketAddress;
using testing::ElementsAre;
using testing::IsEmpty;
using transport::wire::Gid;

const Gid kGroup = Gid::from_ipv4({{239, 9, 9, 9}});

constexpr unsigned kJoined = 4;
constexpr unsigned kLeft = 3;
constexpr unsigned kMember = 2;

class MulticastTest : public rdma_cm::CmTest {
 protected:
  MulticastTest() {
    pair.settle();
    seen_ = pair.wire.sent_by(0).size();
  }

  /// The records of IGMPv3 that the first device sent since the last call; each report has one.
  std::vector<unsigned> take_records() {
    pair.settle();
    std::vector<unsigned> records;
    const auto& sent = pair.wire.sent_by(0);
    for (; seen_ < sent.size(); ++seen_) {
      const auto& frame = sent[seen_];
      const bool is_igmp =
          transport::wire::load_u16(frame, 12) == 0x0800 && transport::wire::load_u8(frame, 14 + 9) == 2;
      if (is_igmp) records.push_back(transport::wire::load_u8(frame, 14 + 24 + 8));
    }
    return records;
  }
  QueuePair& add_datagram_qp() {
    QpCreateAttributes attributes = pair.a().default_attributes();
    attributes.type = QpType::kUd;
    return pair.a().add_queue_pair(attributes);
  }
  Device& device() { return pair.a().device(); }

  std::size_t seen_ = 0;
};

TEST_F(MulticastTest, AttachedQueuePairsAreReportedAtOnceAndAgainWithinASecond) {
  QueuePair& qp = add_datagram_qp();
  ASSERT_TRUE(device().attach_multicast(qp, kGroup));
  EXPECT_THAT(take_records(), ElementsAre(kJoined));
  pair.pass(1s);
  EXPECT_THAT(take_records(), ElementsAre(kJoined));
  ASSERT_TRUE(device().attach_multicast(qp, kGroup));
  ASSERT_TRUE(device().attach_multicast(add_datagram_qp(), kGroup));
  pair.pass(5s);
  EXPECT_THAT(take_records(), IsEmpty()) << "the group is known";

  for (const auto& member : pair.a().queue_pairs()) {
    ASSERT_TRUE(device().detach_multicast(*member, kGroup));
  }
  pair.pass(5s);
  EXPECT_THAT(take_records(), ElementsAre(kLeft, kLeft));
  EXPECT_EQ(pair.a().counter("multicast_reports_sent"), 4u);
}

TEST_F(MulticastTest, QueriesAreAnswered) {
  ASSERT_TRUE(device().attach_multicast(add_datagram_qp(), kGroup));
  pair.pass(5s);
  take_records();
  pair.wire.deliver(0, test::linux_multicast_frame(test::kGeneralQuery3));
  pair.pass(1s);
  EXPECT_THAT(take_records(), ElementsAre(kMember));
  EXPECT_EQ(pair.a().counter("multicast_queries_received"), 1u);
  EXPECT_EQ(pair.a().counter("rx_drop_not_udp"), 0u);
}

TEST_F(MulticastTest, MembersOfRdmaCmCountWithoutAQueuePair) {
  const SocketAddress group{.family = SocketAddress::Family::kIpv4, .address = kGroup};
  const IdNumber id = active.create(0, Service::kUd);
  ASSERT_TRUE(active.cm().bind(active.channel(), id, rdma_cm::address_of(1)));
  const auto join = [&](bool is_send_only) {
    const auto membership =
        active.cm().join(active.channel(), id, 0, group, is_send_only, active.now()).value();
    active.take(EventType::kMulticastJoin);
    return membership;
  };
  const IdNumber sender = join(true);
  pair.pass(5s);
  EXPECT_THAT(take_records(), IsEmpty()) << "a sender is no member";
  const IdNumber membership = join(false);
  pair.pass(5s);
  EXPECT_THAT(take_records(), ElementsAre(kJoined, kJoined));

  QueuePair& qp = add_datagram_qp();
  ASSERT_TRUE(device().attach_multicast(qp, kGroup));
  ASSERT_TRUE(active.cm().leave(active.channel(), membership, active.now()));
  ASSERT_TRUE(active.cm().leave(active.channel(), sender, active.now()));
  pair.pass(5s);
  EXPECT_THAT(take_records(), IsEmpty()) << "the queue pair is still there";
  ASSERT_TRUE(device().detach_multicast(qp, kGroup));
  pair.pass(5s);
  EXPECT_THAT(take_records(), ElementsAre(kLeft, kLeft));
}

TEST_F(MulticastTest, MembersOfRdmaCmLeaveWithTheirId) {
  const SocketAddress group{.family = SocketAddress::Family::kIpv4, .address = kGroup};
  const IdNumber id = active.create(0, Service::kUd);
  ASSERT_TRUE(active.cm().bind(active.channel(), id, rdma_cm::address_of(1)));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(active.cm().join(active.channel(), id, 0, group, false, active.now()));
  }
  pair.pass(5s);
  take_records();
  ASSERT_TRUE(active.cm().destroy_id(active.channel(), id, active.now()));
  pair.pass(5s);
  EXPECT_THAT(take_records(), ElementsAre(kLeft, kLeft));
}

}  // namespace
}  // namespace urnic::nic
