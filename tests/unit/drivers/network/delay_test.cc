// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How long a frame takes, and what rate a link has: closed forms.
#include <gmock/gmock.h>

#include "tests/unit/drivers/network/rig.h"

namespace urnic::network::test {
namespace {

/// host0 - switch0 - switch1 - ... - host1, all links alike.
Topology chain(std::size_t switches, std::uint64_t rate_bps, Duration delay) {
  Topology topology;
  topology.profiles.push_back({.name = "profile"});
  topology.hosts = {{.name = "first"}, {.name = "last"}};
  Node previous{Node::Kind::kHost, 0};
  for (std::size_t i = 0; i < switches; ++i) {
    topology.switches.push_back({.name = "switch" + std::to_string(i)});
    const Node own{Node::Kind::kSwitch, i};
    topology.links.push_back({.ends = {previous, own}, .rate_bps = rate_bps, .delay = delay});
    previous = own;
  }
  topology.links.push_back(
      {.ends = {previous, Node{Node::Kind::kHost, 1}}, .rate_bps = rate_bps, .delay = delay});
  return topology;
}

struct Hops {
  std::size_t switches;
  std::uint64_t rate_bps;
  Duration delay;
  std::size_t size;
  Duration expected;
};

/// (bytes + 8 + 4 + 12) * 8 / rate + delay, for each link.
constexpr Hops kHops[] = {
    {0, 100 * kGigabit, 1us, 1226, 1100ns},               // 1250 bytes: 100 ns
    {1, 100 * kGigabit, 1us, 1226, 2200ns},               //
    {4, 100 * kGigabit, 1us, 1226, 5500ns},               //
    {1, 10 * kGigabit, 500ns, 1226, 3us},                 // 1000 ns and 500 ns, twice
    {3, 1 * kGigabit, 0ns, 976, 32us},                    // 1000 bytes: 8000 ns, four times
    {4, 25 * kGigabit, 0ns, 1, 134ns},                    // padded: 84 bytes, 26.88 ns, five times: 134.4
    {9, 100 * kGigabit, 0ns, 60, 67ns},                   // 6.72 ns, ten times: 67.2
    {2, 400 * kGigabit, 7ns, 4172, 3 * 7ns + 251ns},      // 83.92 ns, three times: 251.76
    {1, 100'000'000, 50us, 9216, 2 * (739200ns + 50us)},  // 9240 bytes at 100 Mb/s
};

TEST(NetworkDelay, IsSerializationAndPropagationOfEachLink) {
  for (const Hops& hops : kHops) {
    Network network(chain(hops.switches, hops.rate_bps, hops.delay), 1);
    network.attach(host(1), mac_of_host(1));
    Bytes frame(std::max<std::size_t>(hops.size, 14));
    wire::store_address(std::span(frame), 0, mac_of_host(1));
    Recorder sink;
    ASSERT_EQ(network.send(host(0), frame, at(3ns)), Network::SendResult::kQueued);
    network.run_until(at(1s), sink);
    ASSERT_EQ(sink.deliveries.size(), 1u);
    EXPECT_EQ(sink.deliveries[0].time, at(3ns + hops.expected)) << hops.switches << " " << hops.size;
    EXPECT_EQ(sink.deliveries[0].bytes, frame);
    EXPECT_EQ(network.frames_inside(), 0u);
  }
}

TEST(NetworkDelay, OfBackToBackFramesAddsUpWithoutRounding) {
  // 6.72 ns each: after 1000 frames, 6720 ns.
  Network network(chain(0, 100 * kGigabit, 0ns), 1);
  Recorder sink;
  const Bytes frame = make_frame({.size = 60});
  for (int i = 0; i < 1000; ++i) network.send(host(0), frame, at(0ns));
  network.run_until(at(1ms), sink);
  ASSERT_EQ(sink.deliveries.size(), 1000u);
  EXPECT_EQ(sink.deliveries[24].time, at(168ns));
  EXPECT_EQ(sink.deliveries[999].time, at(6720ns));
}

TEST(NetworkDelay, IsTheSameFromAnyStart) {
  const Time start = at(std::chrono::hours(24) * 20000);  // as of 1970
  Network network(chain(1, 100 * kGigabit, 1us), 1, start);
  network.attach(host(1), mac_of_host(1));
  Recorder sink;
  network.send(host(0), make_frame({.size = 1226}), start + 5us);
  EXPECT_EQ(network.next_event(), start + 5us + 1100ns);
  network.run_until(start + 1ms, sink);
  ASSERT_EQ(sink.deliveries.size(), 1u);
  EXPECT_EQ(sink.deliveries[0].time, start + 5us + 2200ns);
  EXPECT_EQ(network.next_event(), transport::kNever);
}

TEST(NetworkDelay, StoresBeforeItForwards) {
  // From a fast link to a slow one: the slow one begins when the whole frame is there.
  Topology topology = chain(1, 100 * kGigabit, 1us);
  topology.links[1].rate_bps = 1 * kGigabit;
  Network network(topology, 1);
  network.attach(host(1), mac_of_host(1));
  Recorder sink;
  network.send(host(0), make_frame({.size = 1226}), at(0ns));
  network.run_until(at(1ms), sink);
  ASSERT_EQ(sink.deliveries.size(), 1u);
  EXPECT_EQ(sink.deliveries[0].time, at(1100ns + 11us));
}

}  // namespace
}  // namespace urnic::network::test
