// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a snapshot says of listeners and connections.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "nic/device/device_snapshot.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {
namespace {

class IdSnapshots : public CmTest {
 protected:
  static std::vector<IdSnapshot> of(Host& host) { return take_snapshot(host.device()).ids; }
};

TEST_F(IdSnapshots, SayWhoListensWhereAndHowManyMayStillCome) {
  passive.listen(kPort, 3);
  std::vector<IdSnapshot> ids = of(pair.b());
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_EQ(ids[0].state, IdState::kListen);
  EXPECT_EQ(ids[0].service, Service::kRc);
  EXPECT_EQ(ids[0].space, PortSpace::kTcp);
  EXPECT_EQ(ids[0].local, any_address(kPort));
  EXPECT_EQ(ids[0].backlog, 3u);
  EXPECT_FALSE(ids[0].connection_state);
  ASSERT_EQ(connect(routed()), 0);
  pair.settle();
  ids = of(pair.b());
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids[0].backlog, 2u);
  EXPECT_EQ(ids[1].state, IdState::kConnect);
  EXPECT_EQ(ids[1].connection_state, cm::State::kReqReceived);
}

TEST_F(IdSnapshots, SayWhoIsConnectedWithWhom) {
  passive.listen();
  const Connected ids = connected();
  const IdSnapshot a = of(pair.a()).at(0);
  EXPECT_EQ(a.number, ids.active);
  EXPECT_EQ(a.state, IdState::kConnect);
  EXPECT_EQ(a.connection_state, cm::State::kEstablished);
  EXPECT_EQ(a.local.address, address_of(1).address);
  EXPECT_EQ(a.peer, address_of(2, kPort));
  EXPECT_EQ(a.qp, transport::QpNumber{0x111});
  EXPECT_EQ(a.peer_qp, transport::QpNumber{0x222});
  const IdSnapshot b = of(pair.b()).at(1);
  EXPECT_EQ(b.number, ids.passive);
  EXPECT_EQ(b.connection_state, cm::State::kEstablished);
  EXPECT_EQ(b.local, address_of(2, kPort));
  EXPECT_EQ(b.peer, a.local);
  EXPECT_EQ(b.qp, transport::QpNumber{0x222});
  EXPECT_EQ(b.peer_qp, transport::QpNumber{0x111});

  ASSERT_EQ(Program::error_of(active.cm().disconnect(active.channel(), ids.active, active.now())), 0);
  pair.settle();
  ASSERT_EQ(Program::error_of(passive.cm().disconnect(passive.channel(), ids.passive, passive.now())), 0);
  pair.settle();
  EXPECT_EQ(of(pair.a()).at(0).connection_state, cm::State::kTimewait);
  EXPECT_EQ(of(pair.a()).at(0).state, IdState::kDisconnect);
}

// More than are looked at under one hold of the lock.
TEST_F(IdSnapshots, HaveEveryIdOnce) {
  constexpr std::size_t kCount = 384;
  for (std::size_t i = 0; i < kCount; ++i) active.create();
  const std::vector<IdSnapshot> ids = of(pair.a());
  EXPECT_EQ(ids.size(), kCount);
  const auto is_before = [](const IdSnapshot& one, const IdSnapshot& other) {
    return one.number < other.number;
  };
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end(), is_before));
  EXPECT_TRUE(std::adjacent_find(ids.begin(), ids.end(), std::not_fn(is_before)) == ids.end());
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
