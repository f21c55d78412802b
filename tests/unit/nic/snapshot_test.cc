// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a snapshot says of a device that is at work.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "nic/device/device_snapshot.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using transport::QpState;

std::uint64_t counter(const DeviceSnapshot& snapshot, std::string_view name) {
  for (const auto& [known, value] : snapshot.counters) {
    if (known == name) return value;
  }
  ADD_FAILURE() << "there is no counter " << name;
  return 0;
}

TEST(Snapshot, SaysWhatTheDeviceIs) {
  DevicePair pair;
  pair.pass(5ms);
  const DeviceSnapshot snapshot = take_snapshot(pair.a().device());
  EXPECT_EQ(snapshot.device, "urnic0");
  EXPECT_EQ(snapshot.pid, getpid());
  EXPECT_FALSE(snapshot.program.empty());
  EXPECT_EQ(snapshot.mac, "02:00:00:00:00:01");
  ASSERT_EQ(snapshot.gids.size(), 2u);
  EXPECT_EQ(snapshot.gids[1], pair.a().gid());
  EXPECT_EQ(snapshot.link_mtu, 4200u);
  EXPECT_TRUE(snapshot.is_started);
  EXPECT_EQ(snapshot.uptime_ns, std::chrono::nanoseconds(5ms).count());
  EXPECT_EQ(snapshot.completion_queues, 1u);
  EXPECT_EQ(snapshot.memory_regions, 1u);
  EXPECT_EQ(snapshot.memory_windows, 0u);
  EXPECT_TRUE(snapshot.queue_pairs.empty());
}

TEST(Snapshot, CountsRegionsAndWindowsUntilTheyAreGone) {
  DevicePair pair;
  Device& device = pair.a().device();
  const std::uint32_t window = device.allocate_window(pair.a().pd(), WindowType::kType1).value();
  std::byte memory[64];
  const MemoryRegion region =
      device.register_memory(pair.a().pd(), memory, 64, 0, transport::Access::kNone).value();
  EXPECT_EQ(take_snapshot(device).memory_windows, 1u);
  EXPECT_EQ(take_snapshot(device).memory_regions, 2u);
  const auto regions = take_snapshot(device).objects.memory_regions;
  ASSERT_EQ(regions.size(), 2u);
  const auto listed = std::find_if(regions.begin(), regions.end(),
                                   [&region](const auto& one) { return one.key == region.key; });
  ASSERT_NE(listed, regions.end());
  EXPECT_EQ(listed->length, 64u);
  EXPECT_EQ(listed->address, 0u);
  EXPECT_EQ(listed->domain, to_integer(pair.a().pd().id));
  EXPECT_TRUE(device.deallocate_window(pair.a().pd(), window));
  EXPECT_TRUE(device.deregister_memory(pair.a().pd(), region.key));
  EXPECT_EQ(take_snapshot(device).memory_windows, 0u);
  EXPECT_EQ(take_snapshot(device).memory_regions, 1u);
  EXPECT_EQ(take_snapshot(device).objects.memory_regions.size(), 1u);
}

TEST(Snapshot, ListsMoreRegionsThanItLooksAtAtOnce) {
  DevicePair pair;
  Device& device = pair.a().device();
  std::byte memory[64];
  std::vector<std::uint32_t> keys = {take_snapshot(device).objects.memory_regions.at(0).key};
  for (int i = 0; i < 2500; ++i) {
    keys.push_back(
        device.register_memory(pair.a().pd(), memory, 64, 0, transport::Access::kNone).value().key);
  }
  std::vector<std::uint32_t> listed;
  for (const auto& region : take_snapshot(device).objects.memory_regions) listed.push_back(region.key);
  std::sort(keys.begin(), keys.end());
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, keys);
}

TEST(Snapshot, SaysWhoAQueuePairTalksToAndHowFarItIs) {
  DevicePair pair;
  pair.connect();  // from PSN 100 on
  pair.b().post_receive(1, 0, 64);
  pair.b().post_receive(2, 0, 64);
  pair.a().post_send(1, 0, 64);
  pair.settle();
  const DeviceSnapshot a = take_snapshot(pair.a().device());
  const DeviceSnapshot b = take_snapshot(pair.b().device());
  ASSERT_EQ(a.queue_pairs.size(), 1u);
  ASSERT_EQ(b.queue_pairs.size(), 1u);
  const QueuePairSnapshot& qp = a.queue_pairs[0];
  EXPECT_EQ(qp.number, pair.a().qp().number());
  EXPECT_EQ(qp.type, QpType::kRc);
  EXPECT_EQ(qp.state, QpState::kReadyToSend);
  EXPECT_EQ(qp.peer_qp, pair.b().qp().number());
  EXPECT_EQ(qp.peer, pair.b().gid());
  EXPECT_EQ(qp.send_psn, transport::Psn(101));
  EXPECT_EQ(qp.path_mtu, 1024u);
  EXPECT_EQ(qp.sends_posted, 0u);
  EXPECT_EQ(qp.retry_count, 7u);
  EXPECT_EQ(qp.domain, to_integer(pair.a().pd().id));
  EXPECT_FALSE(qp.srq);
  EXPECT_EQ(b.queue_pairs[0].receive_psn, transport::Psn(101));
  EXPECT_EQ(b.queue_pairs[0].msn, 1u);
  EXPECT_EQ(b.queue_pairs[0].receives_posted, 1u);
  EXPECT_EQ(counter(a, "rdma_sends"), 1u);
  EXPECT_EQ(counter(b, "rdma_recvs"), 1u);
}

TEST(Snapshot, ShowsWhatIsInFlightAndTheRetriesThatItCost) {
  DevicePair pair;
  pair.connect();
  pair.b().post_receive(1, 0, 64);
  pair.a().post_send(1, 0, 64);
  pair.settle();
  pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return true; };
  pair.a().post_send(2, 0, 3000);
  pair.settle();
  QueuePairSnapshot qp = take_snapshot(pair.a().device()).queue_pairs[0];
  EXPECT_EQ(qp.sends_posted, 1u);
  EXPECT_EQ(qp.progress.packets_in_flight, 3u);
  EXPECT_EQ(qp.progress.retries_used, 0u);
  pair.pass(70ms);  // one timeout of code 14
  qp = take_snapshot(pair.a().device()).queue_pairs[0];
  EXPECT_EQ(qp.progress.retries_used, 1u);
  EXPECT_EQ(qp.progress.retries, 1u);
}

TEST(Snapshot, ShowsThatAQueuePairWaitsForItsReceiver) {
  DevicePair pair;
  pair.connect();
  pair.a().post_send(1, 0, 64);
  pair.settle();
  const QueuePairSnapshot qp = take_snapshot(pair.a().device()).queue_pairs[0];
  EXPECT_TRUE(qp.progress.waits_for_receiver);
  EXPECT_EQ(qp.progress.rnr_waits, 1u);
}

TEST(Snapshot, ForgetsInReset) {
  DevicePair pair;
  pair.connect();
  pair.a().post_send(1, 0, 64);
  pair.settle();
  EXPECT_TRUE(pair.a().qp().modify({.state = QpState::kReset}));
  const QueuePairSnapshot qp = take_snapshot(pair.a().device()).queue_pairs[0];
  EXPECT_EQ(qp.state, QpState::kReset);
  EXPECT_EQ(qp.progress.rnr_waits, 0u);
  EXPECT_FALSE(qp.progress.waits_for_receiver);
  EXPECT_TRUE(qp.peer.is_unspecified());
}

TEST(Snapshot, HasEveryQueuePairOnce) {
  DevicePair pair;
  constexpr std::size_t kCount = 500;
  for (std::size_t i = 0; i < kCount; ++i) pair.a().add_queue_pair();
  const DeviceSnapshot snapshot = take_snapshot(pair.a().device());
  std::vector<std::uint32_t> numbers;
  for (const QueuePairSnapshot& qp : snapshot.queue_pairs) numbers.push_back(to_integer(qp.number));
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers.size(), kCount);
  EXPECT_EQ(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace
}  // namespace urnic::nic
