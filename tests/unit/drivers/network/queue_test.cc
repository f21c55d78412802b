// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Queues: how they grow, when they drop, and how priorities share a link.
#include <gmock/gmock.h>

#include <array>
#include <initializer_list>
#include <utility>

#include "tests/unit/drivers/network/rig.h"

namespace urnic::network::test {
namespace {

Profile drop_tail(std::uint64_t limit_bytes) {
  Profile profile;
  for (PriorityProfile& settings : profile.priorities) settings.limit_bytes = limit_bytes;
  return profile;
}

TEST(NetworkQueue, TwoSendersShareALink) {
  Network network(star(3, drop_tail(100'000)), 1);
  attach_all(network);
  Flows flows(network);
  flows.add({.from = 0, .to = 2, .size = 1226});
  flows.add({.from = 1, .to = 2, .size = 1226});
  flows.run(at(1ms));
  // 100 ns each after the first one's 2.2 us; the other half is lost once 100 kB wait.
  EXPECT_EQ(flows.received_frames[2], (1'000'000u - 2'200u) / 100u + 1);
  const PortCounters out = network.counters(switch_port(2));
  EXPECT_EQ(out[0].highest_queue_bytes, 100'000u / 1226u * 1226u);
  const PortCounters first = network.counters(switch_port(0));
  const PortCounters second = network.counters(switch_port(1));
  EXPECT_EQ(first[0].received_frames, second[0].received_frames);
  EXPECT_EQ(first[0].received_frames, (1'000'000u - 1'100u) / 100u + 1);
  EXPECT_EQ(first[0].received_frames + second[0].received_frames,
            out[0].sent_frames + out[0].dropped(DropReason::kTailDrop) +
                network.queue_bytes(switch_port(2), 0) / 1226u);
}

TEST(NetworkQueue, GrowsByWhatArrivesBeyondTheRate) {
  // 200 Gb/s in and 100 Gb/s out: each 100 ns, two frames of 1226 bytes come and one goes.
  Network network(star(3, drop_tail(1 << 30)), 1);
  attach_all(network);
  Flows flows(network);
  flows.add({.from = 0, .to = 2, .size = 1226});
  flows.add({.from = 1, .to = 2, .size = 1226});
  for (const std::int64_t rounds : {1, 2, 10, 1000}) {
    flows.run(at(1us + 100ns * rounds));  // the last bits of the two frames of this round are there
    EXPECT_EQ(network.queue_bytes(switch_port(2), 0), static_cast<std::uint64_t>(rounds) * 1226) << rounds;
  }
}

TEST(NetworkQueue, DropsExactlyWhatIsBeyondTheLimit) {
  for (const auto& [limit, kept] :
       {std::pair(10'000u, 10u), std::pair(9'999u, 9u), std::pair(10'001u, 10u)}) {
    Topology topology = star(2, drop_tail(limit));
    topology.links[1].rate_bps = 1'000'000;  // the first frame occupies it for 8 ms
    Network network(topology, 1);
    attach_all(network);
    Recorder sink;
    for (int i = 0; i < 20; ++i) network.send(host(0), make_frame({.size = 1000}), at(0ns));
    network.run_until(at(1ms), sink);
    EXPECT_EQ(network.queue_bytes(switch_port(1), 0), kept * 1000u);
    EXPECT_EQ(network.counters(switch_port(1))[0].dropped(DropReason::kTailDrop), 20u - 1 - kept);
    network.run_until(at(1s), sink);
    EXPECT_EQ(sink.deliveries.size(), kept + 1);
    EXPECT_EQ(network.frames_inside(), 0u);
  }
}

TEST(NetworkQueue, DropsWhatTheSharedBufferDoesNotHold) {
  Profile profile = drop_tail(1 << 20);
  profile.buffer_bytes = 5'000;
  Topology topology = star(3, profile);
  topology.links[2].rate_bps = 1'000'000;
  topology.links[1].rate_bps = 1'000'000;
  Network network(topology, 1);
  attach_all(network);
  Recorder sink;
  for (int i = 0; i < 4; ++i) network.send(host(0), make_frame({.to = 1, .size = 1000}), at(0ns));
  for (int i = 0; i < 4; ++i) network.send(host(0), make_frame({.to = 2, .size = 1000}), at(0ns));
  network.run_until(at(1ms), sink);
  // One of each is being sent; three and two wait, and the last one found no room.
  EXPECT_EQ(network.queue_bytes(switch_port(1), 0), 3'000u);
  EXPECT_EQ(network.queue_bytes(switch_port(2), 0), 2'000u);
  EXPECT_EQ(network.counters(switch_port(2))[0].dropped(DropReason::kBufferFull), 1u);
}

TEST(NetworkQueue, OfAHostTellsItsRoom) {
  Topology topology = star(2, drop_tail(1 << 20));
  topology.hosts[0].queue_bytes = 3'500;
  Network network(topology, 1);
  attach_all(network);
  const Bytes frame = make_frame({.size = 1000});
  EXPECT_EQ(network.room(host(0), 0), 3'500u);
  network.send(host(0), frame, at(0ns));  // leaves at once
  EXPECT_EQ(network.room(host(0), 0), 3'500u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(network.send(host(0), frame, at(0ns)), Network::SendResult::kQueued);
  EXPECT_EQ(network.room(host(0), 0), 500u);
  EXPECT_EQ(network.room(host(0), 3), 3'500u);
  EXPECT_EQ(network.send(host(0), frame, at(0ns)), Network::SendResult::kNoRoom);
  EXPECT_EQ(network.counters(network.port_of(host(0)))[0].dropped(DropReason::kTailDrop), 1u);
}

TEST(NetworkQueue, RefusesWhatIsNoFrame) {
  Network network(star(2, {}), 1);
  EXPECT_EQ(network.send(host(0), Bytes(13), at(0ns)), Network::SendResult::kMalformed);
  EXPECT_EQ(network.send(host(0), Bytes(kMaxFrameBytes + 1), at(0ns)), Network::SendResult::kMalformed);
  EXPECT_EQ(network.send(host(0), Bytes(kMaxFrameBytes), at(0ns)), Network::SendResult::kQueued);
}

TEST(NetworkQueue, StrictPrioritiesGoFirst) {
  Network network(star(2, {}), 1);
  attach_all(network);
  std::vector<std::uint8_t> order;
  Recorder sink;
  // The first one leaves at once; then by priority: DSCP 48 is 6, 26 is 3, 0 is 0.
  for (const std::uint8_t dscp : std::initializer_list<std::uint8_t>{0, 0, 26, 48, 0, 26, 48}) {
    network.send(host(0), make_frame({.size = 500, .dscp = dscp}), at(0ns));
  }
  network.run_until(at(1ms), sink);
  for (const Delivery& each : sink.deliveries) {
    order.push_back(static_cast<std::uint8_t>(std::to_integer<unsigned>(each.bytes[15]) >> 2));
  }
  EXPECT_THAT(order, testing::ElementsAre(0, 48, 48, 26, 26, 0, 0));
}

/// Bytes of the wire that each of three priorities gets of a link in a millisecond, when all always have
/// frames.
std::array<double, 3> shares_of(const std::array<unsigned, 3>& weights,
                                const std::array<std::size_t, 3>& sizes) {
  Profile profile = drop_tail(1 << 20);
  constexpr std::array<std::uint8_t, 3> kDscp = {0, 4, 48};  // priorities 0, 4 and 6
  constexpr std::array<unsigned, 3> kPriority = {0, 4, 6};
  for (std::size_t i = 0; i < 3; ++i) profile.priorities[kPriority[i]].weight = weights[i];
  Network network(star(2, profile), 1);
  attach_all(network);
  Flows flows(network);
  for (std::size_t i = 0; i < 3; ++i) flows.add({.size = sizes[i], .dscp = kDscp[i]});
  flows.run(at(1ms));
  std::array<double, 3> shares{};
  const PortCounters counters = network.counters(network.port_of(host(0)));
  for (std::size_t i = 0; i < 3; ++i) {
    shares[i] = static_cast<double>(counters[kPriority[i]].sent_frames * (sizes[i] + 24)) / 12'500'000.;
  }
  return shares;
}

TEST(NetworkQueue, WeightsShareTheLinkWhateverTheSizes) {
  for (const auto& sizes :
       {std::array<std::size_t, 3>{1000, 1000, 1000}, {100, 1500, 4096}, {9216, 64, 700}}) {
    const auto shares = shares_of({1, 2, 5}, sizes);
    EXPECT_NEAR(shares[0], 1 / 8., 0.005);
    EXPECT_NEAR(shares[1], 2 / 8., 0.005);
    EXPECT_NEAR(shares[2], 5 / 8., 0.005);
  }
}

TEST(NetworkQueue, StrictPrioritiesLeaveNothingWhileTheyHaveFrames) {
  const auto shares = shares_of({1, 2, 0}, {1000, 1000, 1000});
  EXPECT_LT(shares[0] + shares[1], 0.0005);
  EXPECT_NEAR(shares[2], 1, 0.0005);
}

}  // namespace
}  // namespace urnic::network::test
