// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Frames that a link loses, repeats, delays and changes: when what arrives, and what is counted.
#include <gmock/gmock.h>

#include <deque>

#include "tests/unit/drivers/network/rig.h"

namespace urnic::network::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The link of host 0 does with its frames, one after the other, what the script says; nothing when that is
/// over.
class Script final : public LinkFaults {
 public:
  explicit Script(std::deque<LinkFate> fates) : fates_(std::move(fates)) {}

  bool is_about(LinkId it) const override { return it == link(0); }
  LinkFate judge(LinkId, std::size_t end, std::span<const std::byte>) override {
    EXPECT_EQ(end, 0u) << "nothing is sent to the host";
    if (fates_.empty()) return {};
    const LinkFate fate = fates_.front();
    fates_.pop_front();
    return fate;
  }
  std::size_t change(LinkId, std::span<std::byte> frame) override {
    frame.back() ^= std::byte{0xff};
    return frame.size() - cut;
  }

  std::size_t cut = 0;

 private:
  std::deque<LinkFate> fates_;
};

constexpr std::size_t kSize = 1001;  // its wire bytes take 8.2 us of a link of 1 Gb/s
constexpr Duration kOnLink = 8200ns;

/// Three hosts at 1 Gb/s without delay; host 0 sends `frames` at once, whose last byte is their number.
struct Sending {
  Sending(std::deque<LinkFate> fates, std::size_t frames, std::size_t cut = 0)
      : script(std::move(fates)), network(star(3, Profile{}, kGigabit, 0us), 1) {
    script.cut = cut;
    attach_all(network);
    network.set_link_faults(&script);
    for (std::size_t i = 0; i < frames; ++i) {
      Bytes frame = make_frame({.from = 0, .to = 1, .size = kSize});
      frame.back() = static_cast<std::byte>(i);
      EXPECT_EQ(network.send(host(0), frame, at(0us)), Network::SendResult::kQueued);
    }
  }

  std::vector<int> arrived_until(Duration time) {
    network.run_until(at(time), sink);
    std::vector<int> numbers;
    for (const Delivery& each : sink.deliveries) numbers.push_back(std::to_integer<int>(each.bytes.back()));
    return numbers;
  }

  Script script;
  Network network;
  Recorder sink;
};

TEST(LinkFaults, ALostFrameTakesItsTimeOnTheLinkAndIsCounted) {
  Sending sending({{}, {.is_lost = true}}, 3);
  EXPECT_THAT(sending.arrived_until(1ms), ElementsAre(0, 2));
  EXPECT_EQ(sending.sink.deliveries[1].time - sending.sink.deliveries[0].time, 2 * kOnLink);
  EXPECT_EQ(sending.network.counters(sending.network.port_of(host(0)))[0].dropped(DropReason::kFault), 1u);
  EXPECT_EQ(sending.network.frames_inside(), 0u);
}

TEST(LinkFaults, ACopyFollowsAtOnce) {
  Sending sending({{}, {.is_duplicated = true}}, 3);
  EXPECT_THAT(sending.arrived_until(1ms), ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(sending.network.frames_inside(), 0u);
}

TEST(LinkFaults, LaterFramesGoFirst) {
  Sending sending({{.behind = 2}}, 4);
  EXPECT_THAT(sending.arrived_until(1ms), ElementsAre(1, 2, 0, 3));
  EXPECT_EQ(sending.sink.deliveries[1].time - sending.sink.deliveries[0].time, kOnLink);
}

TEST(LinkFaults, WhatWaitsForFramesThatNeverComeStays) {
  Sending sending({{.behind = 5}}, 3);
  EXPECT_THAT(sending.arrived_until(1s), ElementsAre(1, 2));
  EXPECT_EQ(sending.network.frames_inside(), 1u);
  EXPECT_EQ(sending.network.next_event(), transport::kNever);
  sending.network.set_link(link(0), false, at(1s));
  EXPECT_EQ(sending.network.frames_inside(), 0u) << "a cut link loses it";
}

TEST(LinkFaults, ADelayedFrameComesLaterByThatTimeAndOthersGoOn) {
  Sending delayed({{.delay = 100us}, {.delay = 50us}}, 4);
  EXPECT_THAT(delayed.arrived_until(1ms), ElementsAre(2, 3, 1, 0));
  Sending plain({}, 4);
  plain.arrived_until(1ms);
  EXPECT_EQ(delayed.sink.deliveries[3].time - plain.sink.deliveries[0].time, 100us);
  EXPECT_EQ(delayed.sink.deliveries[2].time - plain.sink.deliveries[1].time, 50us);
}

TEST(LinkFaults, ADelayedFrameIsLostWhenTheLinkIsCut) {
  Sending sending({{.delay = 100us}}, 1);
  EXPECT_THAT(sending.arrived_until(50us), IsEmpty());
  sending.network.set_link(link(0), false, at(50us));
  sending.network.set_link(link(0), true, at(60us));
  EXPECT_THAT(sending.arrived_until(1ms), IsEmpty());
  EXPECT_EQ(sending.network.counters(sending.network.port_of(host(0)))[0].dropped(DropReason::kLinkDown), 1u);
}

TEST(LinkFaults, AChangedFrameArrivesChangedAndItsCopyToo) {
  Sending sending({{.is_duplicated = true, .is_changed = true}}, 2);
  EXPECT_THAT(sending.arrived_until(1ms), ElementsAre(0xff, 0xff, 1));
}

TEST(LinkFaults, AFrameThatIsCutToLessThanItsHeaderIsLost) {
  Sending sending({{.is_changed = true}}, 2, kSize - 13);
  EXPECT_THAT(sending.arrived_until(1ms), ElementsAre(1));
}

TEST(LinkFaults, OtherLinksAreSpared) {
  Script script(std::deque<LinkFate>{{.is_lost = true}});
  Network network(star(3, Profile{}, kGigabit, 0us), 1);
  attach_all(network);
  network.set_link_faults(&script);
  network.send(host(2), make_frame({.from = 2, .to = 1}), at(0us));
  Recorder sink;
  network.run_until(at(1ms), sink);
  EXPECT_EQ(sink.count(1), 1u);
}

}  // namespace
}  // namespace urnic::network::test
