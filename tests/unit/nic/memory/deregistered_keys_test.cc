// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A device that is like a ConnectX-6 does not refuse a region at once that was deregistered.
#include "nic/memory/deregistered_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using transport::Access;
using transport::CompletionStatus;
using transport::Rkey;
using transport::Time;

constexpr Rkey kFirstKey{0x100};
constexpr Rkey kSecondKey{0x200};

TEST(DeregisteredKeys, AreSilentForTheSameTimeEach) {
  const Time start{1h};
  DeregisteredKeys keys(1ms);
  keys.note(kFirstKey, start);
  keys.note(kSecondKey, start + 400us);
  EXPECT_EQ(keys.silent_until(kFirstKey), start + 1ms);
  EXPECT_EQ(keys.silent_until(kSecondKey), start + 1400us);
  EXPECT_EQ(keys.silent_until(Rkey{0x300}), Time::min());
}

TEST(DeregisteredKeys, AreForgottenWhenOthersFollow) {
  const Time start{1h};
  DeregisteredKeys keys(1ms);
  keys.note(kFirstKey, start);
  keys.note(kSecondKey, start + 1ms);
  EXPECT_EQ(keys.silent_until(kFirstKey), Time::min());
  EXPECT_EQ(keys.silent_until(kSecondKey), start + 2ms);
}

/// Two devices that are like it. B has a region that A may write to.
class Like {
 public:
  explicit Like(Column column) : pair({.personality = &personality_of(column)}) {
    pair.connect();
    const auto region = pair.b().device().register_memory(
        pair.b().pd(), memory_.data(), memory_.size(), kAddress, Access::kLocalWrite | Access::kRemoteWrite);
    EXPECT_TRUE(region);
    if (region) key_ = region.value().key;
    pair.settle();
  }
  void deregister() { EXPECT_TRUE(pair.b().device().deregister_memory(pair.b().pd(), key_)); }
  void write(std::uint64_t wr_id) {
    pair.a().post({.wr_id = wr_id,
                   .operation = transport::SendOperation::kWrite,
                   .signaled = true,
                   .remote_address = kAddress,
                   .rkey = Rkey{pair.b().device().rkey_of(key_)}},
                  0, 1);
    pair.settle();
  }

 private:
  static constexpr std::uint64_t kAddress = 0x1000;
  std::array<std::byte, 64> memory_{};
  std::uint32_t key_ = 0;

 public:
  DevicePair pair;
};

TEST(DeregistrationLikeConnectX6, IsFollowedByARefusalAfterItsTime) {
  constexpr auto kInstant = 1us;
  const std::chrono::microseconds silence(personality_of(Column::kConnectX6).silence_after_deregistration);
  ASSERT_GE(silence, 1ms);
  ASSERT_LE(silence, 2200us);
  Like like(Column::kConnectX6);
  like.write(1);
  EXPECT_EQ(like.pair.a().poll_text(), "1 ok");
  like.deregister();
  like.write(2);
  like.pair.pass(silence - kInstant);
  EXPECT_EQ(like.pair.a().poll_text(), "");
  like.pair.pass(kInstant);
  const auto completions = like.pair.a().poll();
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(completions[0].status, CompletionStatus::kRemoteAccessError);
}

TEST(DeregistrationLikeConnectX6, IsOverAfterItsTime) {
  Like like(Column::kConnectX6);
  like.deregister();
  like.pair.pass(3ms);
  like.write(1);
  EXPECT_EQ(like.pair.a().poll_text(), "1 failed");
}

// As with a card whose queue pair ends within the silence.
TEST(DeregistrationLikeConnectX6, IsNotToldOfWhenTheQueuePairEnds) {
  Like like(Column::kConnectX6);
  like.deregister();
  like.write(1);
  EXPECT_TRUE(like.pair.b().qp().modify({.state = transport::QpState::kError}));
  like.pair.pass(3ms);
  EXPECT_EQ(like.pair.a().poll_text(), "");
}

// A card of which nothing is known is as urnic by default.
TEST(Deregistration, IsFollowedByARefusalAtOnceElsewhere) {
  for (const Column column : {Column::kDefault, Column::kConnectX5}) {
    Like like(column);
    like.deregister();
    like.write(1);
    EXPECT_EQ(like.pair.a().poll_text(), "1 failed") << name_of(column);
  }
}

}  // namespace
}  // namespace urnic::nic
