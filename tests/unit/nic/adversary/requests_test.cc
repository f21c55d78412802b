// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "tests/unit/nic/adversary/adversary_fixture.h"

namespace urnic::nic {
namespace {

using testing::ElementsAre;
using transport::Completion;
using transport::CompletionStatus;
using transport::SendOperation;
using namespace std::chrono_literals;

constexpr std::size_t kManyRequests = 60;
constexpr std::size_t kSmall = 64;

// The memory of a request is read after the post: what the program writes there meanwhile is sent.
TEST_F(AdversaryTest, ReadsSomePayloadsLate) {
  behave({Behavior::kLatePayload});
  connect();
  fill(0, 0, kManyRequests * kSmall, 1);
  for (std::size_t i = 0; i < kManyRequests; ++i)
    pair.a().post(write_to_b(i, i * kSmall), i * kSmall, kSmall);
  fill(0, 0, kManyRequests * kSmall, 2);
  pair.pass(200ms);
  EXPECT_EQ(poll_ids(0).size(), kManyRequests);
  // Requests leave in their order: those before the first that waited were read in time.
  EXPECT_TRUE(is_filled(1, (kManyRequests - 1) * kSmall, kSmall, 2));
  EXPECT_GT(acts.count(), 0u);
}

TEST_F(AdversaryTest, LeavesInlineDataAlone) {
  behave({Behavior::kLatePayload});
  connect();
  fill(0, 0, kManyRequests * kSmall, 1);
  for (std::size_t i = 0; i < kManyRequests; ++i) {
    const std::array elements{transport::Sge{
        .address = reinterpret_cast<std::uintptr_t>(&pair.a().memory()[i * kSmall]), .length = kSmall}};
    ASSERT_EQ(QueuePair::SendBatch(pair.a().qp()).post_inline(write_to_b(i, i * kSmall), elements),
              PostStatus::kPosted);
  }
  fill(0, 0, kManyRequests * kSmall, 2);
  pair.pass(200ms);
  EXPECT_EQ(poll_ids(0).size(), kManyRequests);
  EXPECT_TRUE(is_filled(1, 0, kManyRequests * kSmall, 1));
}

TEST_F(AdversaryTest, KeepsRequestsOfAQueuePairInOrderAndEachOnce) {
  behave({Behavior::kLatePayload, Behavior::kSlowQueuePair});
  connect();
  std::vector<std::uint64_t> expected;
  for (std::size_t i = 0; i < kManyRequests; ++i) {
    pair.b().post_receive(i, i * kSmall, kSmall);
    pair.a().post_send(i, i * kSmall, kSmall);
    expected.push_back(i);
  }
  pair.pass(500ms);
  EXPECT_EQ(poll_ids(0), expected);
  EXPECT_EQ(poll_ids(1), expected);
}

TEST_F(AdversaryTest, StallsOneQueuePairWhileAnotherGoesOn) {
  behave({Behavior::kSlowQueuePair});
  connect();
  connect();
  bool was_overtaken = false;
  for (int run = 0; run < 20; ++run) {
    for (std::uint64_t i = 0; i < kManyRequests; ++i) {
      pair.a().post(write_to_b(0, 0), 0, kSmall, 0);
      pair.a().post(write_to_b(1, kSmall), kSmall, kSmall, 1);
    }
    pair.settle();
    const std::vector<std::uint64_t> ids = poll_ids(0);
    const auto of_second = static_cast<std::size_t>(std::count(ids.begin(), ids.end(), 1u));
    was_overtaken = was_overtaken || (of_second == kManyRequests && ids.size() < 2 * kManyRequests);
    pair.pass(20ms);
    EXPECT_EQ(ids.size() + poll(0).size(), 2 * kManyRequests);
  }
  EXPECT_TRUE(was_overtaken);
}

// With nothing to send, or a full port, it is not told to send. Others' timers would never have a turn.
TEST_F(AdversaryTest, IsDueOnceAfterAStallThoughItDoesNotSend) {
  behave({Behavior::kSlowQueuePair});
  int stalls = 0;
  for (std::size_t run = 0; run < 20; ++run) {
    connect();
    for (std::uint64_t i = 0; i < kManyRequests; ++i) pair.a().post(write_to_b(0, 0), 0, kSmall, run);
    pair.settle();
    transport::Endpoint& endpoint = pair.a().qp(run).endpoint();
    const transport::Time due = endpoint.next_timeout();
    if (due == transport::kNever) continue;
    ++stalls;
    endpoint.on_timeout(due);
    EXPECT_GT(endpoint.next_timeout(), due);
  }
  EXPECT_GT(stalls, 0);
}

// The time in which the peer has to acknowledge does not pass in a stall.
TEST_F(AdversaryTest, UsesUpNoRetryInAStall) {
  behave({Behavior::kSlowQueuePair}, 100);
  connect({.path_mtu = transport::PathMtu::k256});
  const std::uint64_t acts_before = acts.count();
  for (std::uint64_t run = 0; run < 40; ++run) {
    pair.a().post(write_to_b(run, 0), 0, 32 * 256);
    pair.pass(1s);
    EXPECT_EQ(poll_ids(0), std::vector<std::uint64_t>{run});
  }
  EXPECT_GT(acts.count(), acts_before + 5);
  EXPECT_EQ(pair.a().counter("local_ack_timeout_err"), 0u);
}

TEST_F(AdversaryTest, LeavesThePeerAllItsTimeAfterAStall) {
  behave({Behavior::kSlowQueuePair});
  connect();
  bool is_silent = false;
  pair.wire.is_lost = [&](std::size_t from, const FakeWire::Bytes&) { return is_silent && from == 1; };
  const transport::Endpoint& endpoint = pair.a().qp().endpoint();
  int stalls = 0;
  for (int run = 0; run < 1000; ++run) {
    is_silent = true;
    pair.a().post(write_to_b(0, 0), 0, kSmall);
    pair.settle();
    const transport::Time begin = pair.clock.now();
    const transport::Time expires = endpoint.acknowledge_by();
    const transport::Time ends = endpoint.next_timeout();
    if (ends < expires) {
      ++stalls;
      pair.pass(ends - begin);
      EXPECT_GE(endpoint.acknowledge_by(), ends + (expires - begin));
    }
    is_silent = false;
    pair.pass(200ms);
    ASSERT_EQ(poll(0).size(), 1u) << run;
  }
  EXPECT_GT(stalls, 5);
}

// Unsignaled ones included, and in the order of each queue.
TEST_F(AdversaryTest, FlushesLateAndCompletely) {
  bool was_late = false;
  behave({Behavior::kLateFlush, Behavior::kLatePayload});
  for (std::size_t run = 0; run < 16; ++run) {
    connect();
    pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return true; };
    for (std::uint64_t i = 0; i < 10; ++i) {
      pair.a().post_receive(100 + i, 0, kSmall, run);
      pair.a().post_send(i, 0, kSmall, run);
    }
    ASSERT_TRUE(pair.a().qp(run).modify({.state = transport::QpState::kError}));
    pair.settle();
    std::vector<Completion> seen = poll(0);
    was_late = was_late || seen.empty();
    pair.pass(50ms);
    for (const Completion& completion : poll(0)) seen.push_back(completion);
    ASSERT_EQ(seen.size(), 20u);
    std::vector<std::uint64_t> sends;
    for (const Completion& completion : seen) {
      EXPECT_EQ(completion.status, CompletionStatus::kWorkRequestFlushed);
      if (completion.wr_id < 100) sends.push_back(completion.wr_id);
    }
    EXPECT_THAT(sends, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return false; };
  }
  EXPECT_TRUE(was_late);
}

}  // namespace
}  // namespace urnic::nic
