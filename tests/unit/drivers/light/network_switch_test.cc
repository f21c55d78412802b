// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/network_switch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "drivers/network/topology_file.h"
#include "tests/unit/drivers/light/fake_port.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using test::Bytes;
using test::FakePort;
using test::frame_between;
using test::kBroadcast;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using transport::wire::Mac;
using Instant = Switch::Clock::time_point;

/// A frame of 1226 bytes is 1250 on the wire: 10 us at 1 Gb/s.
constexpr std::size_t kTenMicroseconds = 1226;

/// Three hosts at a switch: 10 us for a frame on each link, 1 ms of delay on the last one, and NICs that hold
/// five frames.
constexpr std::string_view kStar = R"({
  "name": "star",
  "profiles": [{"name": "plain"}],
  "switches": [{"name": "s", "profile": "plain"}],
  "hosts": [{"name": "a", "queue": "6130B"}, {"name": "b", "queue": "6130B"}, {"name": "c", "queue": "6130B"}],
  "links": [
    {"ends": ["a", "s"], "rate": "1Gb/s", "delay": "0ns"},
    {"ends": ["b", "s"], "rate": "1Gb/s", "delay": "0ns", "down": [{"from": "100ms", "until": "200ms"}]},
    {"ends": ["s", "c"], "rate": "1Gb/s", "delay": "1ms"}
  ]
})";

constexpr Instant kStart{5s};

/// The NIC at port N has this address.
constexpr Mac station(std::uint8_t n) {
  return Mac{{2, 0, 0, 0, 0, n}};
}

class NetworkSwitchTest : public ::testing::Test {
 protected:
  NetworkSwitchTest() : switch_(network::parse_topology(kStar).value(), nullptr, kStart) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      ends_.push_back(std::make_shared<FakePort::Outside>());
      switch_.connect(switch_.add(std::make_unique<FakePort>(ends_.back())), static_cast<network::HostId>(i));
    }
  }
  void put(std::size_t port, const Mac& to, std::uint8_t fill = 0, std::size_t size = kTenMicroseconds) {
    ends_[port]->to_receive.push_back(
        frame_between(to, station(static_cast<std::uint8_t>(port)), size, fill));
  }
  /// Rounds whenever there is work, up to and including that long after the start.
  void run_until(std::chrono::nanoseconds end) {
    Switch::Round round = switch_.run_round(now_);
    while (std::max(round.next, now_) < kStart + end) {
      now_ = std::max(round.next, now_);
      round = switch_.run_round(now_);
    }
    now_ = kStart + end;
    switch_.run_round(now_);
  }
  /// The network knows all addresses. What the NICs got is forgotten.
  void introduce_all() {
    for (std::size_t i = 0; i < ends_.size(); ++i) put(i, kBroadcast);
    run_until(10ms);
    for (const auto& end : ends_) end->sent.clear();
  }
  std::vector<std::size_t> sent() const {
    std::vector<std::size_t> counts;
    for (const auto& end : ends_) counts.push_back(end->sent.size());
    return counts;
  }

  NetworkSwitch switch_;
  Instant now_ = kStart;
  std::vector<std::shared_ptr<FakePort::Outside>> ends_;
};

TEST_F(NetworkSwitchTest, AFrameTakesTheTimeOfItsLinks) {
  introduce_all();
  put(0, station(2), 7);
  run_until(10ms + 1020us - 1ns);
  EXPECT_THAT(sent(), ElementsAre(0, 0, 0)) << "two links of 10 us and a delay of 1 ms";
  run_until(10ms + 1020us);
  EXPECT_THAT(sent(), ElementsAre(0, 0, 1));
  EXPECT_EQ(ends_[2]->sent[0], frame_between(station(2), station(0), kTenMicroseconds, 7));
}

TEST_F(NetworkSwitchTest, SaysWhenItHasWork) {
  introduce_all();
  EXPECT_EQ(switch_.run_round(now_).next, kStart + 100ms) << "the link of b goes down";
  put(0, station(2));
  EXPECT_EQ(switch_.run_round(now_).next, kStart + 10ms + 10us) << "the frame reaches the switch";
}

TEST_F(NetworkSwitchTest, FramesToAnUnknownStationReachAllOtherHosts) {
  put(0, station(1));
  run_until(10ms);
  EXPECT_THAT(sent(), ElementsAre(0, 1, 1));
}

TEST_F(NetworkSwitchTest, AnAddressMovesWithItsStation) {
  introduce_all();
  ends_[1]->to_receive.push_back(frame_between(kBroadcast, station(0), 60, 0));
  run_until(20ms);
  for (const auto& end : ends_) end->sent.clear();
  put(2, station(0));
  run_until(30ms);
  EXPECT_THAT(sent(), ElementsAre(0, 1, 0)) << "it is at b now";
}

TEST_F(NetworkSwitchTest, ReadsNoFurtherWhileTheNicIsFullAndLosesNothing) {
  introduce_all();
  for (std::uint8_t i = 0; i < 200; ++i) put(0, station(2), i);
  switch_.run_round(now_);
  switch_.run_round(now_);
  EXPECT_THAT(ends_[0]->to_receive, SizeIs(200 - 64)) << "one burst was read, and waits";
  run_until(10ms + 1ms + 201 * 10us);
  ASSERT_THAT(ends_[2]->sent, SizeIs(200));
  for (std::uint8_t i = 0; i < 200; ++i) EXPECT_EQ(ends_[2]->sent[i].back(), std::byte{i});
  EXPECT_EQ(switch_.network().total(0).all_dropped(), 0u);
}

TEST_F(NetworkSwitchTest, APortWhoseFramesWaitIsNotArmed) {
  introduce_all();
  for (int i = 0; i < 10; ++i) put(0, station(2));
  switch_.run_round(now_);
  EXPECT_FALSE(switch_.arm()) << "nothing is to be read, so the loop can sleep until the NIC has room";
  EXPECT_FALSE(ends_[0]->is_armed);
  EXPECT_TRUE(ends_[1]->is_armed);
}

TEST_F(NetworkSwitchTest, DropsAndCountsWhatAHostHasNoRoomFor) {
  introduce_all();
  ends_[2]->room = 1;
  put(0, station(2));
  put(0, station(2));
  run_until(20ms);
  EXPECT_THAT(sent(), ElementsAre(0, 0, 1));
  EXPECT_EQ(switch_.counters(2).late_frames, 1u);
}

TEST_F(NetworkSwitchTest, DropsAndCountsWhatIsNoFrame) {
  ends_[0]->to_receive.emplace_back(Bytes(13));
  ends_[0]->to_receive.emplace_back(Bytes());
  ends_[0]->to_receive.push_back(frame_between(station(1), kBroadcast, 60, 0));
  run_until(10ms);
  EXPECT_THAT(sent(), ElementsAre(0, 0, 0));
  EXPECT_EQ(switch_.counters(0).malformed_frames, 3u);
}

TEST_F(NetworkSwitchTest, LosesWhatIsSentWhileALinkIsDown) {
  introduce_all();
  run_until(150ms);
  put(0, station(1));
  put(1, station(0));
  run_until(190ms);
  EXPECT_THAT(sent(), ElementsAre(0, 0, 0));
  run_until(210ms);
  put(0, station(1));
  put(1, station(0));
  run_until(220ms);
  EXPECT_THAT(sent(), ElementsAre(1, 1, 0));
}

TEST_F(NetworkSwitchTest, AHostWithoutAPortMissesItsFrames) {
  NetworkSwitch lonely(network::parse_topology(kStar).value(), nullptr, kStart);
  const auto end = std::make_shared<FakePort::Outside>();
  lonely.connect(lonely.add(std::make_unique<FakePort>(end)), network::HostId{1});
  end->to_receive.push_back(frame_between(kBroadcast, station(1), 60, 0));
  lonely.run_round(kStart);
  lonely.run_round(kStart + 10ms);
  EXPECT_EQ(lonely.network().total(0).received_frames, 3u) << "at the switch, a and c";
}

}  // namespace
}  // namespace urnic::drivers
