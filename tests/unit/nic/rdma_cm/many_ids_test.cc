// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A program with tens of thousands of ids, whose events wait.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/unit/nic/rdma_cm/cm_pair.h"
#include "tests/unit/nic/rdma_cm/ignored_signal.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMany = 20'000;
/// What takes some hundredths of a second when the work grows with the number of ids, and a minute when it
/// grows with its square.
constexpr auto kSoon = 10s;

class Stopwatch {
 public:
  ~Stopwatch() { EXPECT_LT(std::chrono::steady_clock::now() - begin_, kSoon); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

class ManyIds : public CmTest {
 protected:
  /// Ids of one channel that have their address resolved, or wait for it.
  std::vector<IdNumber> ids(const SocketAddress& peer) {
    std::vector<IdNumber> all(kMany);
    for (IdNumber& id : all) {
      id = active.create();
      EXPECT_EQ(active.resolve(id, peer), 0);
    }
    return all;
  }
};

TEST_F(ManyIds, AreDestroyedSoonThoughTheirEventsWait) {
  const std::vector<IdNumber> all = ids(address_of(1, kPort));
  const Stopwatch stopwatch;
  for (const IdNumber id : all) {
    EXPECT_EQ(active.cm().destroy_id(active.channel(), id, active.now()).value(), 0u);
  }
  EXPECT_FALSE(active.has_event());
}

TEST_F(ManyIds, CostARoundLittleWhileTheyWaitForTheirAddress) {
  ids(address_of(77, kPort));
  pair.settle();
  const Stopwatch stopwatch;
  for (std::size_t round = 0; round < kMany; ++round) EXPECT_GT(active.cm().next_timeout(), active.now());
}

TEST_F(ManyIds, LearnThatNoHostAnswers) {
  const std::size_t count = ids(address_of(77, kPort)).size();
  const Stopwatch stopwatch;
  pair.pass(3s);
  for (std::size_t i = 0; i < count; ++i) active.take(EventType::kAddressError);
}

TEST_F(ManyIds, EndTogetherSoonAndSomeAtATime) {
  ids(address_of(1, kPort));
  const Stopwatch stopwatch;
  std::size_t before = active.cm().ids().size();
  while (active.cm().end_some(active.now())) {
    const std::size_t left = active.cm().ids().size();
    ASSERT_LT(left, before);
    ASSERT_LE(before - left, 16u);
    before = left;
  }
  EXPECT_TRUE(active.cm().ids().empty());
}

class IdsOfOneDeviceOfThree : public CmTest {
 protected:
  IdsOfOneDeviceOfThree() : CmTest({.devices = 3}) {}
};

TEST_F(IdsOfOneDeviceOfThree, HaveNumbersThatNoOtherDeviceGives) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(transport::to_integer(active.create()) % 3, 2u);
}

TEST_F(IdsOfOneDeviceOfThree, AreAsManyAsTheDevicesShare) {
  constexpr std::uint32_t kShare = kMaxIds / 3;
  for (std::uint32_t i = 0; i < kShare; ++i) active.create();
  EXPECT_EQ(Program::error_of(active.cm().create_id(active.channel(), 0, PortSpace::kTcp, Service::kRc)),
            ENOMEM);
}

TEST_F(ManyIds, OfOneChannelEndTogetherAndTheOthersStay) {
  constexpr std::size_t kFew = 100;
  IgnoredSignal signal;
  EventChannel other(signal);
  for (std::size_t i = 0; i < kFew; ++i) {
    active.create();
    EXPECT_TRUE(active.cm().create_id(other, 0, PortSpace::kTcp, Service::kRc));
  }
  while (active.cm().end_some_of(other, active.now())) {
  }
  EXPECT_EQ(active.cm().ids().size(), kFew);
}

TEST_F(ManyIds, WithoutAMembershipPayNothingForThoseOfOthers) {
  const IdNumber member = active.create(0, Service::kUd);
  ASSERT_EQ(Program::error_of(active.cm().bind(active.channel(), member, address_of(1))), 0);
  const SocketAddress group{.family = SocketAddress::Family::kIpv4,
                            .address = transport::wire::Ipv6Address::from_ipv4({{239, 1, 1, 1}})};
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(active.cm().join(active.channel(), member, 0, group, false, active.now()));
  }
  const std::vector<IdNumber> all = ids(address_of(1, kPort));
  const Stopwatch stopwatch;
  for (const IdNumber id : all) EXPECT_TRUE(active.cm().destroy_id(active.channel(), id, active.now()));
  EXPECT_TRUE(active.cm().destroy_id(active.channel(), member, active.now()));
  EXPECT_FALSE(active.has_event());
}

TEST(EventChannel, TakesTheEventsOfOneOwnerAndKeepsTheOthersInOrder) {
  IgnoredSignal signal;
  EventChannel channel(signal);
  const auto push = [&channel](std::uint32_t owner, int status) {
    channel.push({.event = {.status = status}, .owner = IdNumber{owner}});
  };
  push(1, 10);
  push(2, 20);
  push(1, 11);
  push(3, 30);
  push(2, 21);
  const auto taken = channel.take(IdNumber{1});
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].event.status, 10);
  EXPECT_EQ(taken[1].event.status, 11);
  EXPECT_TRUE(channel.take(IdNumber{1}).empty());
  for (const int status : {20, 30, 21}) EXPECT_EQ(channel.pop()->event.status, status);
  EXPECT_TRUE(channel.is_empty());
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
