// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the link layer says of frames. The numbers are from the notes on pause frames, and from the map from
// DSCP to priority in drivers/network/TOPOLOGY.md.
#include "tools/conformance/check/packets/link_frame.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "tests/unit/check/congestion_frames.h"

namespace urnic::check::test {
namespace {

constexpr Mac kSwitch = {{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};

std::optional<LinkFrame> ethernet(const std::vector<std::byte>& bytes) {
  return parse_link(LinkType::kEthernet, bytes);
}

std::vector<std::byte> frame_with(std::initializer_list<unsigned> behind_addresses) {
  std::vector<std::byte> bytes(12, std::byte{0x02});
  for (const unsigned octet : behind_addresses) bytes.push_back(static_cast<std::byte>(octet));
  return bytes;
}

TEST(LinkFrame, HasThePausesOfPriorities) {
  const auto frame = ethernet(pause_frame(kSwitch, {{3, 0xffff}, {6, 0x1234}, {0, 0}}, 0).bytes);
  ASSERT_TRUE(frame && frame->pause);
  EXPECT_EQ(frame->source, kSwitch);
  EXPECT_TRUE(frame->pause->is_of_priorities);
  EXPECT_EQ(frame->pause->priorities, 0x49);
  EXPECT_EQ(frame->pause->quanta[3], 0xffff);
  EXPECT_EQ(frame->pause->quanta[6], 0x1234);
}

TEST(LinkFrame, HasThePauseOfAll) {
  const auto frame = ethernet(pause_of_all(kSwitch, 0x0102, 0).bytes);
  ASSERT_TRUE(frame && frame->pause);
  EXPECT_FALSE(frame->pause->is_of_priorities);
  EXPECT_EQ(frame->pause->quanta[0], 0x0102);
}

TEST(LinkFrame, IsNoPauseWhenItIsCutOrGoesElsewhere) {
  auto bytes = pause_frame(kSwitch, {{3, 1}}, 0).bytes;
  bytes.resize(34);
  EXPECT_TRUE(ethernet(bytes)->pause);
  bytes.resize(33);
  EXPECT_FALSE(ethernet(bytes)->pause);
  auto all = pause_of_all(kSwitch, 1, 0).bytes;
  all.resize(18);
  EXPECT_TRUE(ethernet(all)->pause);
  all.resize(17);
  EXPECT_FALSE(ethernet(all)->pause);
  all.resize(60);
  all[5] = std::byte{2};  // another group
  EXPECT_FALSE(ethernet(all)->pause);
  all[5] = std::byte{1};
  all[15] = std::byte{2};  // another opcode
  EXPECT_FALSE(ethernet(all)->pause);
  EXPECT_FALSE(ethernet(std::vector<std::byte>(13)));
  EXPECT_FALSE(parse_link(LinkType::kLinuxCooked, all));
}

TEST(LinkFrame, HasThePriorityOfItsTagOrElseOfItsDscp) {
  const auto priority = [](std::initializer_list<unsigned> behind) {
    return ethernet(frame_with(behind))->priority;
  };
  EXPECT_EQ(priority({0x08, 0x00, 0x45, 26 << 2}), 3);
  EXPECT_EQ(priority({0x08, 0x00, 0x45, 3 << 2 | 3}), 3);
  EXPECT_EQ(priority({0x08, 0x00, 0x45, 4 << 2}), 4);
  EXPECT_EQ(priority({0x08, 0x00, 0x45, 48 << 2}), 6);
  EXPECT_EQ(priority({0x08, 0x00, 0x45, 46 << 2}), 0);
  EXPECT_EQ(priority({0x86, 0xdd, 0x60 | 48 >> 2, (48 & 3) << 6}), 6);
  EXPECT_EQ(priority({0x86, 0xdd, 0x60 | 26 >> 2, (26 & 3) << 6}), 3);
  EXPECT_EQ(priority({0x81, 0x00, 0xa0, 0x01, 0x08, 0x00, 0x45, 26 << 2}), 5);
  EXPECT_EQ(priority({0x88, 0xa8, 0x40, 0x01, 0x81, 0x00, 0xa0, 0x01, 0x08, 0x00, 0x45, 0}), 2)
      << "the outermost";
  EXPECT_EQ(priority({0x89, 0x15, 0x60, 0xff}), 0);
  EXPECT_EQ(priority({0x08, 0x00, 0x45}), 0);
  EXPECT_EQ(priority({0x81, 0x00}), 0);
}

}  // namespace
}  // namespace urnic::check::test
