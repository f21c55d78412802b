// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Priority-based flow control: what it saves, what it costs, and how it can lock up.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "drivers/network/pause_frame.h"
#include "drivers/network/shared_buffer.h"
#include "tests/unit/drivers/network/rig.h"

namespace urnic::network::test {
namespace {

constexpr std::uint64_t kXoff = 20'000;

/// Priority 3 is lossless.
Profile lossless(std::uint64_t headroom_bytes) {
  Profile profile;
  profile.buffer_bytes = 4 << 20;
  profile.priorities[kLosslessPriority].lossless =
      Lossless{.xoff_bytes = kXoff, .xon_offset_bytes = 3'000, .headroom_bytes = headroom_bytes};
  return profile;
}

/// Pause frames that ports send, and watchdogs.
class Tap : public Observer {
 public:
  struct Sent {
    PortId port;
    Time time;
    Bytes bytes;
  };
  void on_send(PortId port, std::span<const std::byte> frame, Time time) override {
    if (frame[12] == std::byte{0x88} && frame[13] == std::byte{0x08}) {
      pauses.push_back({port, time, Bytes(frame.begin(), frame.end())});
    }
  }
  void on_watchdog([[maybe_unused]] PortId port, [[maybe_unused]] unsigned priority,
                   [[maybe_unused]] Time time) override {
    ++watchdogs;
  }

  std::vector<Sent> pauses;
  std::size_t watchdogs = 0;
};

TEST(PauseFrame, IsWhatTheStandardLaysOut) {
  // Fact A3: DA, SA, type, opcode, vector, eight times with class 0 first, 26 bytes of zero; the FCS is not
  // ours.
  constexpr std::array<unsigned, 60> kExpected = {
      0x01, 0x80, 0xc2, 0x00, 0x00, 0x01,              // to the neighbor
      0x02, 0x11, 0x22, 0x33, 0x44, 0x55,              // from
      0x88, 0x08,                                      // MAC control
      0x01, 0x01,                                      // priority-based flow control
      0x00, 0x48,                                      // classes 3 and 6
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff,  // class 3: the longest time
      0x00, 0x00, 0x00, 0x00, 0x12, 0x34, 0x00, 0x00,  // class 6
  };
  PauseFrame pause{.priorities = 0x48};
  pause.quanta[3] = 0xffff;
  pause.quanta[6] = 0x1234;
  Bytes bytes(PauseFrame::kBytes, std::byte{0xee});
  EXPECT_EQ(emit(pause, {{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}}, bytes), 60u);
  for (std::size_t i = 0; i < kExpected.size(); ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), kExpected[i]) << i;
  }
  EXPECT_EQ(PauseFrame::parse(bytes), pause);

  Bytes other = bytes;
  other[15] = std::byte{0x02};
  EXPECT_FALSE(PauseFrame::parse(other));
  EXPECT_FALSE(PauseFrame::parse(std::span(bytes).first(33)));
  EXPECT_TRUE(PauseFrame::parse(std::span(bytes).first(34)));
}

/// Four senders at line rate to one receiver, in priority 3.
void incast(Network& network, Time until) {
  attach_all(network);
  Flows flows(network);
  for (std::size_t i = 1; i < 5; ++i) flows.add({.from = i, .to = 0, .size = 1048, .dscp = 26});
  flows.run(until);
}

// From the frame that crosses XOFF until the sender obeys: the port sends a frame of its own at most (none
// here), the pause frame is on its way for 6.72 ns and 1 us, the sender finishes a frame (85.76 ns), and what
// is on the link is 1 us long. At 80 ps a byte: 26 kB.
constexpr std::uint64_t kEnoughHeadroom = 28'000;

TEST(NetworkPause, LosesNothingWithEnoughHeadroom) {
  Network network(star(5, lossless(kEnoughHeadroom)), 1);
  incast(network, at(2ms));
  const PriorityCounters total = network.total(kLosslessPriority);
  EXPECT_EQ(total.all_dropped(), 0u);
  EXPECT_GT(total.pauses_sent, 100u);
  EXPECT_EQ(total.pauses_sent - total.pauses_received, total.pauses_sent > total.pauses_received ? 1u : 0u);
  EXPECT_GT(total.paused_time, 4 * 1ms);
  // The link to the receiver never rests: (1048 + 24) * 8 / 100 Gb/s = 85.76 ns.
  EXPECT_GE(network.counters(switch_port(0))[kLosslessPriority].sent_frames,
            (2'000'000u - 1'200u) * 100 / 8576);
}

TEST(NetworkPause, LosesFramesWithoutHeadroom) {
  for (const std::uint64_t headroom : {std::uint64_t{0}, kEnoughHeadroom / 2}) {
    Network network(star(5, lossless(headroom)), 1);
    incast(network, at(2ms));
    const PriorityCounters total = network.total(kLosslessPriority);
    EXPECT_GT(total.dropped(DropReason::kHeadroomFull), 0u) << headroom;
    EXPECT_EQ(total.dropped(DropReason::kHeadroomFull), total.all_dropped());
  }
}

TEST(NetworkPause, HoldsWithAThresholdThatMoves) {
  Profile profile = lossless(kEnoughHeadroom);
  profile.buffer_bytes = 400'000;
  Lossless& settings = *profile.priorities[kLosslessPriority].lossless;
  settings.xoff_bytes.reset();
  settings.xoff_alpha = 0.125;
  Network network(star(5, profile), 1);
  incast(network, at(2ms));
  const PriorityCounters total = network.total(kLosslessPriority);
  EXPECT_EQ(total.all_dropped(), 0u);
  EXPECT_GT(total.pauses_sent, 100u);
  // Four senders hold T each with T = (pool - 4 T) / 8: T = pool / 12, and the headroom comes on top.
  const std::uint64_t pool = 400'000 - 5 * kEnoughHeadroom;
  EXPECT_GE(total.highest_queue_bytes, 4 * (pool / 12));
  EXPECT_LE(total.highest_queue_bytes, 4 * (pool / 12 + kEnoughHeadroom) + 4 * 1048);
}

// A frame that left at once would have its port paused, and no other of its frames would leave and end that.
TEST(NetworkPause, IsNotForAPortThatHoldsNothing) {
  Profile profile;
  profile.buffer_bytes = 10'000;
  profile.priorities[kLosslessPriority].lossless = Lossless{.xoff_alpha = 0.125, .headroom_bytes = 1'000};
  SharedBuffer buffer(profile, 2);
  ASSERT_TRUE(buffer.admit(0, 0, 8'000));
  ASSERT_EQ(buffer.xoff_threshold(kLosslessPriority), 0u);
  EXPECT_FALSE(buffer.is_above_xoff(1, kLosslessPriority));
  ASSERT_TRUE(buffer.admit(1, kLosslessPriority, 500));
  EXPECT_TRUE(buffer.is_above_xoff(1, kLosslessPriority));
  buffer.release(1, kLosslessPriority, 500);
  EXPECT_FALSE(buffer.is_above_xoff(1, kLosslessPriority));
}

TEST(NetworkPause, SendsXoffAndXonAsFrames) {
  Network network(star(5, lossless(kEnoughHeadroom)), 1);
  Tap tap;
  network.set_observer(&tap);
  incast(network, at(100us));
  ASSERT_GE(tap.pauses.size(), 8u);
  for (const Tap::Sent& sent : tap.pauses) {
    const auto pause = PauseFrame::parse(sent.bytes);
    ASSERT_TRUE(pause);
    EXPECT_EQ(sent.bytes.size(), 60u);
    EXPECT_EQ(pause->priorities, 1u << 3);
    EXPECT_TRUE(pause->quanta[3] == 0xffff || pause->quanta[3] == 0);
    EXPECT_EQ(end_of(sent.port), 1u);  // the switch
    EXPECT_NE(link_of(sent.port), link(0));
  }
  EXPECT_EQ(PauseFrame::parse(tap.pauses.front().bytes)->quanta[3], 0xffff);
}

TEST(NetworkPause, TakesEffectOnTheFrameAfterTheOneThatIsBeingSent) {
  // A host that pauses its switch, at 1 Gb/s without delay: 1226 bytes take 10 us, a pause frame 672 ns.
  Network network(star(2, lossless(10'000), kGigabit, 0ns), 1);
  attach_all(network);
  Recorder sink;
  for (int i = 0; i < 3; ++i) network.send(host(0), make_frame({.size = 1226, .dscp = 26}), at(0ns));
  network.run_until(at(15us), sink);  // the switch is in the middle of the first one
  network.set_receive_pause(host(1), kLosslessPriority, true, at(15us));
  network.run_until(at(1ms), sink);
  ASSERT_EQ(sink.deliveries.size(), 1u);
  EXPECT_EQ(sink.deliveries[0].time, at(20us));
  network.set_receive_pause(host(1), kLosslessPriority, false, at(1ms));
  network.run_until(at(2ms), sink);
  ASSERT_EQ(sink.deliveries.size(), 3u);
  EXPECT_EQ(sink.deliveries[1].time, at(1ms + 672ns + 10us));
  const PriorityCounters paused = network.counters(switch_port(1))[kLosslessPriority];
  EXPECT_EQ(paused.paused_time, 1ms - 15us);  // both frames take as long
}

TEST(NetworkPause, StopsOnePriorityAndNoOther) {
  Network network(star(2, lossless(10'000)), 1);
  attach_all(network);
  Recorder sink;
  network.set_receive_pause(host(1), kLosslessPriority, true, at(0ns));
  network.set_receive_pause(host(1), 0, true, at(0ns));  // not lossless: ignored
  network.run_until(at(10us), sink);
  EXPECT_TRUE(network.counters(switch_port(1))[kLosslessPriority].pauses_received > 0);
  network.send(host(0), make_frame({.dscp = 26}), at(10us));
  network.send(host(0), make_frame({.dscp = 0}), at(10us));
  network.run_until(at(50us), sink);
  ASSERT_EQ(sink.deliveries.size(), 1u);
  EXPECT_EQ(sink.deliveries[0].bytes[15], std::byte{0x02});
}

TEST(NetworkPause, ExpiresUnlessItIsRefreshed) {
  // A pause frame that a host makes itself, once: 100 quanta of 512 bits are 512 ns at 100 Gb/s.
  Network network(star(2, lossless(10'000), 100 * kGigabit, 0ns), 1);
  attach_all(network);
  Recorder sink;
  PauseFrame pause{.priorities = 1u << 3};
  pause.quanta[3] = 100;
  Bytes bytes(PauseFrame::kBytes);
  emit(pause, mac_of_host(1), bytes);
  network.send(host(1), bytes, at(0ns));  // arrives at 6.72 ns and ends at 518.72 ns
  network.send(host(0), make_frame({.size = 1226, .dscp = 26}), at(0ns));
  network.run_until(at(300ns), sink);
  EXPECT_EQ(network.queue_bytes(switch_port(1), 3), 1226u);
  network.run_until(at(1ms), sink);
  ASSERT_EQ(sink.deliveries.size(), 1u);
  EXPECT_EQ(sink.deliveries[0].time, at(618ns));
  EXPECT_EQ(network.next_event(), transport::kNever);

  // Asked for until told otherwise, it outlives its quanta.
  network.set_receive_pause(host(1), kLosslessPriority, true, at(1ms));
  network.send(host(0), make_frame({.size = 1226, .dscp = 26}), at(1ms));
  network.run_until(at(10ms), sink);
  EXPECT_EQ(sink.deliveries.size(), 2u - 1);
  EXPECT_GT(network.counters(switch_port(1))[3].pauses_received, 9ms / 335us);
}

TEST(NetworkPause, BackPressuresAHost) {
  Network network(star(5, lossless(kEnoughHeadroom)), 1);
  attach_all(network);
  Recorder sink;
  for (std::size_t sender = 1; sender < 5; ++sender) {
    const Bytes frame = make_frame({.from = sender, .to = 0, .size = 1048, .dscp = 26});
    while (network.room(host(sender), 3) >= frame.size()) network.send(host(sender), frame, at(0ns));
  }
  bool was_paused = false;
  for (Time now{}; network.next_event() < at(100us); now = network.next_event()) {
    network.run_until(now, sink);
    was_paused |= network.is_paused(host(1), 3);
    EXPECT_FALSE(network.is_paused(host(1), 0));
  }
  EXPECT_TRUE(was_paused);
}

/// Two switches. host0 sends to host2 on its own; hosts 1, 4 and 5 overload host3. All of them share the link
/// in the middle.
std::uint64_t victim_frames(bool with_pfc) {
  Topology topology;
  topology.profiles.push_back(with_pfc ? lossless(60'000) : Profile{});
  topology.profiles[0].name = "profile";
  if (!with_pfc) topology.profiles[0].priorities[3].limit_bytes = 100'000;
  topology.switches = {{.name = "left"}, {.name = "right"}};
  for (std::size_t i = 0; i < 6; ++i) {
    topology.hosts.push_back({.name = "host" + std::to_string(i)});
    const std::size_t side = i == 2 || i == 3 || i == 4 || i == 5 ? 1 : 0;
    topology.links.push_back({.ends = {Node{Node::Kind::kHost, i}, Node{Node::Kind::kSwitch, side}},
                              .rate_bps = 25 * kGigabit,
                              .delay = 1us});
  }
  topology.links.push_back({.ends = {Node{Node::Kind::kSwitch, 0}, Node{Node::Kind::kSwitch, 1}},
                            .rate_bps = 100 * kGigabit,
                            .delay = 1us});
  Network network(topology, 1);
  attach_all(network);
  Flows flows(network);
  flows.add({.from = 0, .to = 2, .size = 1048, .dscp = 26});
  for (const std::size_t sender : {1, 4, 5}) {
    flows.add({.from = sender, .to = 3, .size = 1048, .dscp = 26});
  }
  flows.run(at(5ms));
  EXPECT_EQ(network.total(3).all_dropped() == 0, with_pfc);
  return flows.received_frames[2];
}

TEST(NetworkPause, SlowsAFlowDownThatOnlySharesALink) {
  // 25 Gb/s are 343.04 ns a frame: 14,500 in 5 ms. The link in the middle has four times as much.
  const std::uint64_t without = victim_frames(false);
  const std::uint64_t with = victim_frames(true);
  EXPECT_GT(without, 14'500u);
  EXPECT_LT(with, without / 2);
}

/// Each host to the next but one, at line rate.
struct Ring {
  explicit Ring(const Topology& topology) : network(topology, 1), flows(network) {
    attach_all(network);
    network.set_observer(&tap);
    for (std::size_t i = 0; i < 5; ++i) {
      flows.add({.from = i, .to = (i + 2) % 5, .size = 1048, .dscp = 26});
    }
  }
  std::uint64_t received() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t frames : flows.received_frames) sum += frames;
    return sum;
  }

  Network network;
  Flows flows;
  Tap tap;
};

TEST(NetworkPause, DeadlocksInARing) {
  Topology topology = shipped_topology("pfc_ring");
  topology.profiles[0].priorities[3].lossless->watchdog = Duration(0);
  Ring ring(topology);
  ring.flows.run(at(5ms));
  const std::uint64_t before = ring.received();
  EXPECT_GT(before, 0u);
  ring.flows.run(at(100ms));
  EXPECT_EQ(ring.received(), before);
  EXPECT_EQ(ring.network.total(3).all_dropped(), 0u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(ring.network.counters(port_id(link(5 + i), 0))[3].paused_time > 95ms) << i;
  }
}

TEST(NetworkPause, DeadlockEndsWithTheWatchdog) {
  Ring ring(shipped_topology("pfc_ring"));
  ring.flows.run(at(5ms));
  const std::uint64_t before = ring.received();
  ring.flows.run(at(9ms));
  EXPECT_EQ(ring.received(), before);
  // The senders go on, and lock up again: it takes 10 ms until the watchdog sees it, and 10 ms until the
  // queues take frames.
  std::uint64_t last = before;
  for (int round = 1; round <= 4; ++round) {
    ring.flows.run(at(25ms * round));
    EXPECT_GT(ring.received(), last + 500) << round;
    last = ring.received();
  }
  const PriorityCounters total = ring.network.total(3);
  EXPECT_GT(total.watchdog_fired, 0u);
  EXPECT_EQ(total.watchdog_fired, ring.tap.watchdogs);
  EXPECT_GT(total.dropped(DropReason::kWatchdog), 0u);
  EXPECT_EQ(total.dropped(DropReason::kWatchdog), total.all_dropped());
}

TEST(NetworkPause, WatchdogEmptiesTheQueueOfAHostThatPausesForEver) {
  Profile profile = lossless(kEnoughHeadroom);
  profile.priorities[3].lossless->watchdog = 1ms;
  profile.priorities[3].lossless->watchdog_restore = 2ms;
  Network network(star(2, profile), 1);
  attach_all(network);
  Tap tap;
  network.set_observer(&tap);
  Recorder sink;
  const Bytes frame = make_frame({.size = 1000, .dscp = 26});
  network.set_receive_pause(host(1), 3, true, at(0ns));
  network.run_until(at(10us), sink);
  for (int i = 0; i < 5; ++i) network.send(host(0), frame, at(10us));
  network.run_until(at(1011us), sink);  // not yet: they came after 11.08 us
  EXPECT_EQ(tap.watchdogs, 0u);
  network.run_until(at(1012us), sink);
  EXPECT_EQ(tap.watchdogs, 1u);
  network.run_until(at(2ms), sink);
  network.send(host(0), frame, at(2ms));  // discarded
  network.run_until(at(2500us), sink);
  network.set_receive_pause(host(1), 3, false, at(2500us));
  network.run_until(at(3020us), sink);
  EXPECT_EQ(network.counters(switch_port(1))[3].dropped(DropReason::kWatchdog), 6u);
  network.send(host(0), frame, at(3020us));
  network.run_until(at(4ms), sink);
  EXPECT_EQ(sink.deliveries.size(), 1u);
}

}  // namespace
}  // namespace urnic::network::test
