// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which way frames go: equal paths, trees, links that go down.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/unit/drivers/network/rig.h"

namespace urnic::network::test {
namespace {

/// Which ports sent a frame with each source port of UDP.
class PathTap : public Observer {
 public:
  void on_send(PortId port, std::span<const std::byte> frame, [[maybe_unused]] Time time) override {
    if (frame.size() < 36 || frame[12] != std::byte{0x08}) return;
    paths[wire::load_u16(frame, 34)].insert(port);
  }
  std::map<std::uint16_t, std::set<PortId>> paths;
};

/// In leaf_spine.json, links 16 to 23 are leaf L - spine S at 16 + 2 L + S.
bool goes_over_spine(const std::set<PortId>& path, std::size_t leaf, std::size_t spine) {
  return path.contains(port_id(link(16 + 2 * leaf + spine), 0));
}

TEST(NetworkRoutes, KeepAFlowOnOnePathAndSpreadMany) {
  Network network(shipped_topology("leaf_spine"), 3);
  attach_all(network);
  PathTap tap;
  network.set_observer(&tap);
  Recorder sink;
  // From host00, at leaf0, to host10, at leaf1: 1000 flows of three frames each.
  for (std::uint16_t flow = 0; flow < 1000; ++flow) {
    for (int i = 0; i < 3; ++i) {
      const Time now = at(1us * (flow * 3 + i));
      network.run_until(now, sink);
      network.send(host(0), make_frame({.from = 0, .to = 4, .size = 200, .source_port = flow}), now);
    }
  }
  network.run_until(at(100ms), sink);
  EXPECT_EQ(sink.count(4), 3000u);
  EXPECT_EQ(sink.deliveries.size(), 3000u);
  std::size_t over_first = 0;
  for (const auto& [flow, path] : tap.paths) {
    EXPECT_EQ(path.size(), 4u) << flow;  // host, leaf, one spine, leaf
    EXPECT_NE(goes_over_spine(path, 0, 0), goes_over_spine(path, 0, 1)) << flow;
    over_first += goes_over_spine(path, 0, 0) ? 1 : 0;
  }
  // Five standard deviations of 1000 throws of a coin.
  EXPECT_NEAR(static_cast<double>(over_first), 500, 79);
}

TEST(NetworkRoutes, SpreadFlowsIndependentlyAtEachSwitch) {
  // Three stages with two ways each: with the same hash everywhere, the second choice would follow from the
  // first one.
  Topology topology;
  topology.profiles.push_back({.name = "profile"});
  topology.hosts = {{.name = "a"}, {.name = "b"}};
  for (std::size_t i = 0; i < 7; ++i) topology.switches.push_back({.name = "s" + std::to_string(i)});
  const auto add = [&](Node one, Node other) {
    topology.links.push_back({.ends = {one, other}, .rate_bps = 100 * kGigabit, .delay = 1us});
  };
  const auto at_switch = [](std::size_t index) { return Node{Node::Kind::kSwitch, index}; };
  add({Node::Kind::kHost, 0}, at_switch(0));                                     // 0
  for (const std::size_t middle : {1, 2}) add(at_switch(0), at_switch(middle));  // 1, 2
  for (const std::size_t middle : {1, 2}) add(at_switch(middle), at_switch(3));  // 3, 4
  for (const std::size_t middle : {4, 5}) add(at_switch(3), at_switch(middle));  // 5, 6
  for (const std::size_t middle : {4, 5}) add(at_switch(middle), at_switch(6));  // 7, 8
  add({Node::Kind::kHost, 1}, at_switch(6));                                     // 9
  Network network(topology, 1);
  attach_all(network);
  PathTap tap;
  network.set_observer(&tap);
  Recorder sink;
  for (std::uint16_t flow = 0; flow < 1000; ++flow) {
    network.run_until(at(1us * flow), sink);
    network.send(host(0), make_frame({.size = 200, .source_port = flow}), at(1us * flow));
  }
  network.run_until(at(100ms), sink);
  std::array<std::size_t, 4> combinations{};
  for (const auto& [flow, path] : tap.paths) {
    const bool first = path.contains(port_id(link(1), 0));
    const bool second = path.contains(port_id(link(5), 0));
    ++combinations[(first ? 2u : 0u) + (second ? 1u : 0u)];
  }
  for (const std::size_t count : combinations) EXPECT_NEAR(static_cast<double>(count), 250, 70);
}

TEST(NetworkRoutes, BroadcastReachesEachHostOnceInSpiteOfLoops) {
  for (const char* const name : {"leaf_spine", "pfc_ring", "dumbbell"}) {
    const Topology topology = shipped_topology(name);
    for (std::size_t from = 0; from < topology.hosts.size(); ++from) {
      Network network(topology, 1);
      attach_all(network);
      Recorder sink;
      Bytes broadcast = make_frame({.from = from});
      std::fill_n(broadcast.begin(), 6, std::byte{0xff});
      Bytes multicast = make_frame({.from = from});
      multicast[0] = std::byte{0x33};
      network.send(host(from), broadcast, at(0ns));
      network.send(host(from), multicast, at(0ns));
      network.send(host(from), make_frame({.from = from, .to = 999}), at(0ns));  // no host has this address
      network.run_until(at(4ms), sink);
      for (std::size_t to = 0; to < topology.hosts.size(); ++to) {
        EXPECT_EQ(sink.count(to), to == from ? 0u : 3u);
      }
      EXPECT_EQ(network.frames_inside(), 0u);
    }
  }
}

/// Three switches, each linked to the others and to a host. Links 0 to 2 lead to the hosts; links 3 to 5 join
/// switches 0 and 1, 0 and 2, 1 and 2. Link `slow_link` is slow.
Topology triangle(std::size_t slow_link) {
  Topology topology;
  topology.profiles.push_back({.name = "profile"});
  const auto add = [&](Node one, Node other) {
    const Duration delay = topology.links.size() == slow_link ? 100us : 1us;
    topology.links.push_back({.ends = {one, other}, .rate_bps = 100 * kGigabit, .delay = delay});
  };
  const auto at_switch = [](std::size_t index) { return Node{Node::Kind::kSwitch, index}; };
  for (std::size_t i = 0; i < 3; ++i) {
    topology.hosts.push_back({.name = "h" + std::to_string(i)});
    topology.switches.push_back({.name = "s" + std::to_string(i)});
    add({Node::Kind::kHost, i}, at_switch(i));
  }
  add(at_switch(0), at_switch(1));
  add(at_switch(0), at_switch(2));
  add(at_switch(1), at_switch(2));
  return topology;
}

Bytes make_broadcast(std::size_t from) {
  Bytes broadcast = make_frame({.from = from});
  std::fill_n(broadcast.begin(), 6, std::byte{0xff});
  return broadcast;
}

// The frame has reached host 2, and is on its way to switch 1, from which the new tree leads to switch 2.
TEST(NetworkRoutes, BroadcastReachesAHostOnceWhenALinkOfTheTreeGoesDown) {
  Network network(triangle(3), 1);
  attach_all(network);
  Recorder sink;
  network.send(host(0), make_broadcast(0), at(0ns));
  network.run_until(at(50us), sink);
  ASSERT_EQ(sink.count(2), 1u);
  network.set_link(link(4), false, at(50us));
  network.run_until(at(1ms), sink);
  EXPECT_EQ(sink.count(2), 1u);
  EXPECT_EQ(network.frames_inside(), 0u);
}

// The frame has reached host 1, and is on its way to switch 2, from which the new tree leads to switch 0, and
// on to switch 1.
TEST(NetworkRoutes, BroadcastReachesAHostOnceWhenALinkOfTheTreeComesUp) {
  Network network(triangle(5), 1);
  attach_all(network);
  network.set_link(link(4), false, at(0ns));
  Recorder sink;
  network.send(host(0), make_broadcast(0), at(0ns));
  network.run_until(at(50us), sink);
  ASSERT_EQ(sink.count(1), 1u);
  network.set_link(link(4), true, at(50us));
  network.run_until(at(1ms), sink);
  EXPECT_EQ(sink.count(0), 0u);
  EXPECT_EQ(sink.count(1), 1u);
  EXPECT_EQ(network.counters(port_id(link(5), 1))[0].dropped(DropReason::kNotForwarded), 1u);
  network.send(host(0), make_broadcast(0), at(1ms));
  network.run_until(at(2ms), sink);
  EXPECT_EQ(sink.count(1), 2u);
  EXPECT_EQ(sink.count(2), 1u);
}

TEST(NetworkRoutes, NeverLeadBackWhereAFrameCameFrom) {
  Network network(star(2, {}), 1);
  attach_all(network);
  Recorder sink;
  network.send(host(0), make_frame({.from = 0, .to = 0}), at(0ns));
  Bytes link_local = make_frame({});
  wire::store_address(std::span(link_local), 0, wire::Mac{{0x01, 0x80, 0xc2, 0, 0, 0x0e}});  // LLDP
  network.send(host(0), link_local, at(0ns));
  network.run_until(at(1ms), sink);
  EXPECT_TRUE(sink.deliveries.empty());
  EXPECT_EQ(network.counters(switch_port(0))[0].dropped(DropReason::kNotForwarded), 2u);
}

TEST(NetworkRoutes, FollowAnAddressToItsLatestHost) {
  Network network(star(3, {}), 1);
  attach_all(network);
  network.attach(host(2), mac_of_host(1));
  Recorder sink;
  network.send(host(0), make_frame({.from = 0, .to = 1}), at(0ns));
  network.run_until(at(1ms), sink);
  EXPECT_EQ(sink.count(1), 0u);
  EXPECT_EQ(sink.count(2), 1u);
}

TEST(NetworkRoutes, AvoidALinkThatIsDown) {
  Network network(shipped_topology("leaf_spine"), 3);
  attach_all(network);
  network.set_link(link(16), false, at(0ns));  // leaf0 - spine0
  PathTap tap;
  network.set_observer(&tap);
  Recorder sink;
  for (std::uint16_t flow = 0; flow < 100; ++flow) {
    network.run_until(at(1us * flow), sink);
    network.send(host(0), make_frame({.from = 0, .to = 4, .size = 200, .source_port = flow}), at(1us * flow));
    network.send(host(4), make_frame({.from = 4, .to = 0, .size = 200, .source_port = 1000}), at(1us * flow));
  }
  network.run_until(at(1ms), sink);
  EXPECT_EQ(sink.count(4), 100u);
  EXPECT_EQ(sink.count(0), 100u);
  for (const auto& [flow, path] : tap.paths) {
    EXPECT_FALSE(path.contains(port_id(link(16), 0)));
    EXPECT_FALSE(path.contains(port_id(link(16), 1)));
  }
  network.set_link(link(16), true, at(1ms));
  tap.paths.clear();
  for (std::uint16_t flow = 0; flow < 100; ++flow) {
    network.send(host(0), make_frame({.from = 0, .to = 4, .size = 200, .source_port = flow}), at(1ms));
  }
  network.run_until(at(2ms), sink);
  std::size_t over_first = 0;
  for (const auto& [flow, path] : tap.paths) over_first += goes_over_spine(path, 0, 0) ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(over_first), 50, 25);
}

TEST(NetworkRoutes, CountWhatALinkLosesThatGoesDown) {
  Topology topology = star(2, {}, kGigabit, 100us);
  topology.links[1].outages = {{.down = 200us, .up = 300us}};
  Network network(topology, 1);
  attach_all(network);
  Recorder sink;
  // 1226 bytes take 10 us: they reach the switch from 110 us on, one each 10 us. At 200 us the tenth one
  // arrives, nine are on the link to host 1, and none has reached it.
  for (int i = 0; i < 30; ++i) network.send(host(0), make_frame({.size = 1226}), at(0ns));
  network.run_until(at(199us), sink);
  EXPECT_TRUE(network.is_up(link(1)));
  network.run_until(at(200us), sink);
  EXPECT_FALSE(network.is_up(link(1)));
  EXPECT_TRUE(sink.deliveries.empty());
  network.run_until(at(1ms), sink);
  EXPECT_TRUE(network.is_up(link(1)));
  const std::uint64_t lost = network.counters(switch_port(1))[0].dropped(DropReason::kLinkDown);
  EXPECT_EQ(lost + sink.deliveries.size(), 30u);
  EXPECT_EQ(network.total(0).all_dropped(), lost);
  // Those that reached the switch from 110 to 290 us; the one of 300 us is either's, by the order of events.
  EXPECT_GE(lost, 19u);
  EXPECT_LE(lost, 20u);
  EXPECT_EQ(network.frames_inside(), 0u);
}

TEST(NetworkRoutes, LoseWhatAHostSendsToALinkThatIsDown) {
  Network network(star(2, {}), 1);
  attach_all(network);
  Recorder sink;
  for (int i = 0; i < 5; ++i) network.send(host(0), make_frame({}), at(0ns));
  network.set_link(link(0), false, at(0ns));
  EXPECT_EQ(network.send(host(0), make_frame({}), at(0ns)), Network::SendResult::kLinkDown);
  EXPECT_EQ(network.counters(network.port_of(host(0)))[0].dropped(DropReason::kLinkDown), 6u);
  network.run_until(at(1ms), sink);
  EXPECT_TRUE(sink.deliveries.empty());
  network.set_link(link(0), true, at(1ms));
  EXPECT_EQ(network.send(host(0), make_frame({}), at(1ms)), Network::SendResult::kQueued);
  network.run_until(at(2ms), sink);
  EXPECT_EQ(sink.deliveries.size(), 1u);
}

TEST(NetworkRoutes, HaveNoWayWhenTheNetworkIsCutInTwo) {
  Network network(shipped_topology("dumbbell"), 1);
  attach_all(network);
  network.set_link(link(2), false, at(0ns));
  Recorder sink;
  network.send(host(0), make_frame({.from = 0, .to = 2}), at(0ns));
  network.send(host(0), make_frame({.from = 0, .to = 1}), at(0ns));
  Bytes broadcast = make_frame({.from = 0});
  std::fill_n(broadcast.begin(), 6, std::byte{0xff});
  network.send(host(0), broadcast, at(0ns));
  network.run_until(at(1ms), sink);
  EXPECT_EQ(sink.count(1), 2u);
  EXPECT_EQ(sink.deliveries.size(), 2u);
  EXPECT_EQ(network.counters(port_id(link(0), 1))[0].dropped(DropReason::kNoWay), 1u);
}

TEST(NetworkRoutes, EndThePausesOfALinkThatGoesDown) {
  Profile profile;
  profile.priorities[3].lossless = Lossless{.xoff_bytes = 20'000, .headroom_bytes = 30'000};
  Network network(star(2, profile), 1);
  attach_all(network);
  Recorder sink;
  network.set_receive_pause(host(1), 3, true, at(0ns));
  network.run_until(at(10us), sink);
  network.send(host(0), make_frame({.dscp = 26}), at(10us));
  network.run_until(at(20us), sink);
  EXPECT_TRUE(sink.deliveries.empty());
  network.set_link(link(1), false, at(20us));
  network.set_link(link(1), true, at(30us));
  network.send(host(0), make_frame({.dscp = 26}), at(30us));
  network.run_until(at(1ms), sink);
  EXPECT_EQ(sink.deliveries.size(), 1u);
  EXPECT_EQ(network.next_event(), transport::kNever);
}

}  // namespace
}  // namespace urnic::network::test
