// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/network/switched_path.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tools/simulation/kernel/addresses.h"
#include "tools/simulation/seeds/network/network.h"
#include "tools/simulation/seeds/scenario/random_topology.h"
#include "tools/simulation/seeds/world.h"

namespace urnic::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr HostId kSender = host_id(0);
constexpr HostId kReceiver = host_id(1);

network::Node switch_number(std::size_t index) {
  return {.kind = network::Node::Kind::kSwitch, .index = index};
}

/// Two hosts, A and B, and two switches with two links between them.
network::Topology two_ways() {
  network::Topology topology;
  topology.profiles = {{.name = "p"}};
  topology.switches = {{.name = "s0"}, {.name = "s1"}};
  topology.hosts = {{.name = "A"}, {.name = "B"}};
  constexpr std::uint64_t kRate = 1'000'000'000;
  topology.links = {{.ends = {network::Node{.index = 0}, switch_number(0)}, .rate_bps = kRate},
                    {.ends = {network::Node{.index = 1}, switch_number(1)}, .rate_bps = kRate},
                    {.ends = {switch_number(0), switch_number(1)}, .rate_bps = kRate},
                    {.ends = {switch_number(0), switch_number(1)}, .rate_bps = kRate}};
  return topology;
}

/// B's link is slow, and its switch pauses and has no watchdog.
network::Topology paused_for_ever() {
  network::Topology topology = two_ways();
  network::Profile& profile = topology.profiles[0];
  for (network::PriorityProfile& priority : profile.priorities) {
    priority.lossless =
        network::Lossless{.xoff_bytes = 4000, .xon_offset_bytes = 0, .headroom_bytes = 30'000};
  }
  topology.links[1].outages = {};
  topology.links[1].rate_bps = 1'000'000;
  return topology;
}

/// Moves frames whose last byte is a number from A to B.
class SwitchedPathTest : public ::testing::Test {
 protected:
  explicit SwitchedPathTest(network::Topology topology = two_ways())
      : frame_(test::read_pcap(test::fixtures() / "vs_rnr.pcap").value()[0].bytes) {
    const auto mac = kernel::mac_of(index(kReceiver));
    std::memcpy(frame_.data(), mac.octets.data(), mac.octets.size());
    options_.links.resize(2);
    options_.topology = std::move(topology);
    path_.emplace(options_, clock_, events_);
  }

  void send(std::uint8_t number, bool is_damaged = false, std::size_t bytes = 0) {
    Frame frame(frame_);
    frame.bytes.back() = std::byte{number};
    if (bytes > 0) frame.bytes.resize(bytes);
    frame.damaged = is_damaged;
    path_->carry({.from = kSender,
                  .to = kReceiver,
                  .time = clock_.now(),
                  .bytes = frame_.size(),
                  .frame = std::move(frame)});
  }

  struct Arrival {
    unsigned number = 0;
    bool is_damaged = false;
    std::size_t bytes = 0;
    Time time{};
  };
  /// Everything that happens until `end`.
  std::vector<Arrival> run(Duration end) {
    std::vector<Arrival> arrivals;
    for (;;) {
      const Time next = std::min(events_.next_time(), path_->next_event());
      if (next > Time(end)) break;
      clock_.advance_to(next);
      if (path_->next_event() <= next) path_->run_until(next);
      if (events_.next_time() > next) continue;
      Event event = events_.take();
      if (event.kind == Event::Kind::kEnter) {
        path_->enter(event.host, std::move(event.frame));
        continue;
      }
      EXPECT_EQ(event.host, kReceiver);
      arrivals.push_back({.number = std::to_integer<unsigned>(event.frame.bytes.back()),
                          .is_damaged = event.frame.damaged,
                          .bytes = event.frame.bytes.size(),
                          .time = event.time});
    }
    clock_.advance_to(Time(end));
    return arrivals;
  }

  Options options_;
  kernel::Clock clock_;
  EventQueue events_;
  std::vector<std::byte> frame_;
  std::optional<SwitchedPath> path_;
};

TEST_F(SwitchedPathTest, KeepsTheOrderAndTheBytesOfAFlow) {
  for (std::uint8_t number = 0; number < 50; ++number) send(number);
  const auto arrivals = run(milliseconds(10));
  ASSERT_EQ(arrivals.size(), 50u);
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    EXPECT_EQ(arrivals[i].number, i);
    EXPECT_EQ(arrivals[i].bytes, frame_.size());
    EXPECT_FALSE(arrivals[i].is_damaged);
  }
}

TEST_F(SwitchedPathTest, KnowsADamagedFrameAtItsEndThoughItsMacIsAnother) {
  frame_[5] = std::byte{0x77};
  send(1, true);
  const auto arrivals = run(milliseconds(10));
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_TRUE(arrivals[0].is_damaged);
}

TEST_F(SwitchedPathTest, ADamagedFrameThatIsTooShortForEthernetGetsNoFurther) {
  send(1, true, 59);
  send(2, true, 60);
  EXPECT_EQ(run(milliseconds(10)).size(), 1u);
  EXPECT_EQ(path_->counts().runts, 1u);
}

TEST_F(SwitchedPathTest, WithoutFaultsNothingWaitsForALinkThatIsDown) {
  options_.topology->links[1].outages = {{.down = Duration(0), .up = std::chrono::seconds(1)}};
  path_.emplace(options_, clock_, events_);
  run(microseconds(1));
  send(1);
  EXPECT_TRUE(run(milliseconds(10)).empty());
  EXPECT_EQ(path_->counts().links_cut, 1u);
  path_->stop_faults();
  send(2);
  const auto arrivals = run(milliseconds(20));
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].number, 2u);
}

class PausedPathTest : public SwitchedPathTest {
 protected:
  PausedPathTest() : SwitchedPathTest(paused_for_ever()) {}
};

// 1 Mb/s carries a frame of some 100 bytes in about a millisecond.
TEST_F(PausedPathTest, HoldsUpItsSenderAndGivesUpWhatIsTooOld) {
  for (int i = 0; i < 2000 && path_->has_room(kSender); ++i) {
    send(1);
    run(clock_.now().time_since_epoch() + microseconds(1));
  }
  EXPECT_FALSE(path_->has_room(kSender));
  const auto arrivals = run(std::chrono::seconds(3));
  EXPECT_FALSE(arrivals.empty());
  for (const Arrival& arrival : arrivals) EXPECT_LE(arrival.time - Time{}, kMaxTransit + milliseconds(2));
  EXPECT_GT(path_->counts().given_up, 0u);
  EXPECT_GT(path_->counts().pauses, 0u);
}

TEST_F(PausedPathTest, StandsStillSomeTimeAfterTheFaultsStopped) {
  for (int i = 0; i < 200; ++i) send(1);
  run(microseconds(10));
  path_->stop_faults();
  EXPECT_TRUE(path_->has_room(kSender));
  run(std::chrono::seconds(1));
  EXPECT_EQ(path_->next_event(), transport::kNever);
  EXPECT_EQ(events_.next_time(), transport::kNever);
  EXPECT_GT(path_->counts().pauses, 0u);
}

TEST(SwitchedWorld, IsTheSameEveryTime) {
  for (const std::uint64_t seed : {3u, 4u, 5u}) {
    const Options options = Options::draw(seed, {.path = PathKind::kSwitched});
    World once(options);
    World again(options);
    EXPECT_FALSE(once.run());
    EXPECT_FALSE(again.run());
    EXPECT_EQ(once.trace_hash(), again.trace_hash());
    World direct(Options::draw(seed, {.path = PathKind::kDirect}));
    EXPECT_FALSE(direct.run());
    EXPECT_NE(once.trace_hash(), direct.trace_hash());
  }
}

// Every port pauses at the first byte, and asks for it again and again, since none ever says XON.
TEST(SwitchedWorld, EndsThoughItsNetworkIsPausedForEver) {
  Options options = Options::draw(3, {.path = PathKind::kSwitched});
  for (network::Profile& profile : options.topology->profiles) {
    profile.pause_quanta = 65535;
    for (network::PriorityProfile& priority : profile.priorities) {
      priority.lossless = network::Lossless{.xoff_bytes = 1, .xon_offset_bytes = 0, .headroom_bytes = 20'000};
      priority.marking.reset();
    }
    profile.buffer_bytes = 1 << 26;
  }
  for (network::Link& link : options.topology->links) link.rate_bps = 10'000'000;
  ASSERT_TRUE(network::check(*options.topology));
  World world(options);
  const auto failure = world.run();
  EXPECT_FALSE(failure) << failure->what;
  EXPECT_GT(world.coverage().count(CoverageEvent::kPriorityPaused), 0u);
  EXPECT_LT(world.virtual_time(), std::chrono::minutes(3));
}

}  // namespace
}  // namespace urnic::sim
