// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Room as the providers of rdma-core compute it. The numbers were worked out from their sources by hand.
#include "nic/personality/room.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace urnic::nic {
namespace {

const Personality& connectx6() {
  return personality_of(Column::kConnectX6);
}
const Personality& e810() {
  return personality_of(Column::kE810);
}

QueueSizes granted_of(const Personality& nic, const QueueSizes& wanted,
                      RoomService service = RoomService::kConnected) {
  const auto granted = granted_sizes(nic, service, wanted);
  EXPECT_TRUE(granted.has_value());
  return granted ? granted.value() : QueueSizes{};
}

int error_of(const Personality& nic, const QueueSizes& wanted) {
  const auto granted = granted_sizes(nic, RoomService::kConnected, wanted);
  return granted ? 0 : granted.error().code;
}

// 256 bytes each: 192 before the element, 16 for it. 100 of them need 25,600 bytes, and get 32,768.
TEST(RoomOfConnectX, IsAPowerOfTwoOfBytes) {
  EXPECT_EQ(granted_of(connectx6(), {.sends = 100, .send_sges = 1}).sends, 128u);
  EXPECT_EQ(granted_of(connectx6(), {.sends = 128, .send_sges = 1}).sends, 128u);
  EXPECT_EQ(granted_of(connectx6(), {.sends = 1, .send_sges = 1}).sends, 1u);
}

// 448 bytes each with 220 bytes inline: 65,536 / 448 is 146.
TEST(RoomOfConnectX, IsNoPowerOfTwoOfRequests) {
  const QueueSizes granted = granted_of(connectx6(), {.sends = 100, .send_sges = 1, .inline_bytes = 220});
  EXPECT_EQ(granted.sends, 146u);
  EXPECT_EQ(granted.inline_bytes, 448u - 192 - 4);
}

TEST(RoomOfConnectX, GrantsInlineDataThatWasNotRequested) {
  EXPECT_EQ(granted_of(connectx6(), {.sends = 4, .send_sges = 1}).inline_bytes, 256u - 192 - 4);
}

// A datagram has 64 bytes before its element.
TEST(RoomOfConnectX, DependsOnTheService) {
  const QueueSizes granted = granted_of(connectx6(), {.sends = 100, .send_sges = 1}, RoomService::kDatagram);
  EXPECT_EQ(granted.sends, 128u);
  EXPECT_EQ(granted.inline_bytes, 128u - 64 - 4);
}

// 2 MiB hold 8192 sends of 256 bytes.
TEST(RoomOfConnectX, EndsBeforeMaxQpWr) {
  EXPECT_EQ(granted_of(connectx6(), {.sends = 8192, .send_sges = 1}).sends, 8192u);
  EXPECT_EQ(error_of(connectx6(), {.sends = 8193, .send_sges = 1}), EINVAL);
}

TEST(RoomOfConnectX, RoundsElementsOfReceivesUp) {
  const QueueSizes granted = granted_of(connectx6(), {.receives = 100, .receive_sges = 3});
  EXPECT_EQ(granted.receives, 128u);
  EXPECT_EQ(granted.receive_sges, 4u);
  // The smallest queue has 64 bytes.
  EXPECT_EQ(granted_of(connectx6(), {.receives = 1, .receive_sges = 1}).receives, 4u);
}

TEST(RoomOfConnectX, HasNoneThatWasNotRequested) {
  const QueueSizes granted = granted_of(connectx6(), {.send_sges = 1, .receive_sges = 1});
  EXPECT_EQ(granted.sends, 0u);
  EXPECT_EQ(granted.receives, 0u);
}

TEST(RoomOfConnectX, HasCompletionsOfAPowerOfTwoLessOne) {
  EXPECT_EQ(granted_completions(connectx6(), 100), 127u);
  EXPECT_EQ(granted_completions(connectx6(), 127), 127u);
  EXPECT_EQ(granted_completions(connectx6(), 128), 255u);
}

TEST(RoomOfConnectX, HasSharedReceivesOfAPowerOfTwoLessOne) {
  const auto granted = granted_shared_sizes(connectx6(), {.receives = 100, .receive_sges = 2});
  ASSERT_TRUE(granted.has_value());
  EXPECT_EQ(granted.value().receives, 127u);
  EXPECT_EQ(granted.value().receive_sges, 3u);
}

TEST(RoomOfConnectX, RefusesMoreElementsThanItHas) {
  EXPECT_EQ(error_of(connectx6(), {.sends = 1, .send_sges = 30}), 0);
  EXPECT_EQ(error_of(connectx6(), {.sends = 1, .send_sges = 31}), EINVAL);
  EXPECT_EQ(error_of(connectx6(), {.receives = 1, .receive_sges = 32}), 0);
}

// One element and the one for immediate data are two quanta: 1 << 1, 258 in reserve, 512 in all.
TEST(RoomOfE810, KeepsAReserve) {
  EXPECT_EQ(granted_of(e810(), {.sends = 1, .send_sges = 1}).sends, (512u - 258) / 2);
  EXPECT_EQ(granted_of(e810(), {.sends = 1}).sends, 512u - 258) << "at least 254 where each takes a quantum";
}

TEST(RoomOfE810, GrowsWithElementsAndInlineData) {
  EXPECT_EQ(granted_of(e810(), {.sends = 100, .send_sges = 3}).sends, (1024u - 258) / 4);
  EXPECT_EQ(granted_of(e810(), {.sends = 100, .send_sges = 1, .inline_bytes = 40}).sends, (1024u - 258) / 4);
  EXPECT_EQ(granted_of(e810(), {.sends = 100, .send_sges = 13}).sends, (2048u - 258) / 8);
}

TEST(RoomOfE810, KeepsOneReceive) {
  EXPECT_EQ(granted_of(e810(), {.receives = 100, .receive_sges = 1}).receives, 127u);
  EXPECT_EQ(granted_of(e810(), {.receives = 1, .receive_sges = 1}).receives, 7u);
  EXPECT_EQ(granted_of(e810(), {.receives = 100, .receive_sges = 3}).receives, (256u - 1) / 2);
}

TEST(RoomOfE810, RefusesWhatPerftestFallsOver) {
  EXPECT_EQ(error_of(e810(), {.sends = 1, .send_sges = 1, .inline_bytes = 101}), 0);
  EXPECT_EQ(error_of(e810(), {.sends = 1, .send_sges = 1, .inline_bytes = 220}), EINVAL);
  EXPECT_EQ(error_of(e810(), {.sends = 1, .send_sges = 14}), EINVAL);
}

TEST(RoomOfE810, HasTheCompletionsThatWereRequested) {
  EXPECT_EQ(granted_completions(e810(), 100), 100u);
}

TEST(RoomOfStrict, IsWhatWasRequested) {
  const QueueSizes wanted{.sends = 5, .receives = 3, .send_sges = 2, .receive_sges = 1, .inline_bytes = 9};
  EXPECT_EQ(granted_of(personality_of(Column::kStrict), wanted), wanted);
  EXPECT_EQ(granted_completions(personality_of(Column::kStrict), 5), 5u);
}

}  // namespace
}  // namespace urnic::nic
