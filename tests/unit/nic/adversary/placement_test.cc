// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "tests/support/value_of.h"
#include "tests/unit/nic/adversary/adversary_fixture.h"

namespace urnic::nic {
namespace {

using transport::CompletionStatus;
using transport::SendOperation;
using namespace std::chrono_literals;

constexpr std::size_t kLarge = 8 * 1024;
constexpr int kManyRuns = 40;

// The peer's acknowledgement says that it was accepted, and no more.
TEST_F(AdversaryTest, CompletesAWriteWhoseBytesAreNotInMemoryYet) {
  behave({Behavior::kLatePlacement});
  connect();
  int late = 0;
  for (int run = 1; run <= kManyRuns; ++run) {
    fill(0, 0, kLarge, run);
    pair.a().post(write_to_b(1, 0), 0, kLarge);
    pair.settle();
    ASSERT_EQ(poll_ids(0).size(), 1u);
    late += is_filled(1, 0, kLarge, run) ? 0 : 1;
    pair.pass(1ms);
    EXPECT_TRUE(is_filled(1, 0, kLarge, run));
  }
  EXPECT_GT(late, 0);
}

TEST_F(AdversaryTest, PlacesAllBeforeAReceiveOfThatQueuePairCompletes) {
  behave({Behavior::kLatePlacement, Behavior::kLastBytesFirst});
  connect();
  for (int run = 1; run <= kManyRuns; ++run) {
    fill(0, 0, 2 * kLarge, run);
    pair.b().post_receive(7, kLarge, kLarge);
    pair.a().post(write_to_b(1, 0), 0, kLarge);
    pair.a().post_send(2, kLarge, kLarge);
    while (poll(1).empty()) pair.a().device().progress() || pair.b().device().progress();
    EXPECT_TRUE(is_filled(1, 0, 2 * kLarge, run)) << run;
    pair.settle();
    static_cast<void>(poll(0));
  }
  EXPECT_GT(acts.count(), 0u);
}

// The program knows that the WRITE is complete, and tells the peer so over another queue pair.
TEST_F(AdversaryTest, PlacesAllBeforeAReceiveOfAnotherQueuePairCompletes) {
  behave({Behavior::kLatePlacement});
  connect();
  connect();
  for (int run = 1; run <= kManyRuns; ++run) {
    fill(0, 0, kLarge, run);
    pair.b().post_receive(7, kLarge, kLarge, 1);
    pair.a().post(write_to_b(1, 0), 0, kLarge, 0);
    pair.settle();
    ASSERT_EQ(poll_ids(0).size(), 1u);
    pair.a().post_send(2, 0, 8, 1);
    pair.settle();
    ASSERT_EQ(poll(1).size(), 1u);
    EXPECT_TRUE(is_filled(1, 0, kLarge, run)) << run;
    static_cast<void>(poll(0));
  }
}

TEST_F(AdversaryTest, AnswersAReadWithWhatWasWrittenBefore) {
  behave({Behavior::kLatePlacement});
  connect();
  for (int run = 1; run <= kManyRuns; ++run) {
    fill(0, 0, kLarge, run);
    pair.a().post(write_to_b(1, 0), 0, kLarge);
    transport::SendRequest read = write_to_b(2, 0);
    read.operation = SendOperation::kRead;
    pair.a().post(read, 2 * kLarge, kLarge);
    pair.settle();
    ASSERT_EQ(poll_ids(0).size(), 2u);
    EXPECT_TRUE(is_filled(0, 2 * kLarge, kLarge, run)) << run;
  }
}

// Of two WRITEs to one place the second one stays.
TEST_F(AdversaryTest, KeepsTwoWritesToOnePlaceInOrder) {
  behave({Behavior::kLatePlacement, Behavior::kLastBytesFirst});
  connect();
  for (int run = 1; run <= kManyRuns; ++run) {
    fill(0, 0, kLarge, run);
    fill(0, kLarge, kLarge, run + 100);
    pair.a().post(write_to_b(1, 0), 0, kLarge);
    pair.a().post(write_to_b(2, 0), kLarge, kLarge);
    pair.pass(1ms);
    EXPECT_TRUE(is_filled(1, 0, kLarge, run + 100)) << run;
    static_cast<void>(poll(0));
  }
}

// Their program knows that the first one is complete before it posts the second.
TEST_F(AdversaryTest, KeepsWritesOfTwoQueuePairsToOnePlaceInOrder) {
  behave({Behavior::kLatePlacement, Behavior::kLastBytesFirst});
  connect();
  connect();
  for (int run = 1; run <= kManyRuns; ++run) {
    fill(0, 0, kLarge, run);
    fill(0, kLarge, kLarge, run + 100);
    pair.a().post(write_to_b(1, 0), 0, kLarge, 0);
    pair.settle();
    ASSERT_EQ(poll_ids(0).size(), 1u);
    pair.a().post(write_to_b(2, 0), kLarge, kLarge, 1);
    pair.pass(1ms);
    EXPECT_TRUE(is_filled(1, 0, kLarge, run + 100)) << run;
    static_cast<void>(poll(0));
  }
}

// The answer is held back for longer than the peer is given to send the rest of it.
TEST_F(AdversaryTest, TouchesNoMemoryAfterItsRequestHasFailed) {
  behave({Behavior::kLatePlacement}, 100);
  for (std::size_t run = 0; run < 16; ++run) {
    connect({.ack_timeout = 1, .retry_count = 0});
    transport::SendRequest read = write_to_b(1, 0);
    read.operation = SendOperation::kRead;
    fill(0, 0, kLarge, 1);
    fill(1, 0, kLarge, 2);
    pair.a().post(read, 0, kLarge, run);
    int answers = 0;
    pair.wire.is_lost = [&answers](std::size_t from, const FakeWire::Bytes&) {
      return from == 1 && ++answers > 3;
    };
    std::vector<transport::Completion> seen;
    for (int wait = 0; seen.empty() && wait < 1000; ++wait) {
      pair.pass(1ms);
      seen = poll(0);
    }
    pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return false; };
    ASSERT_FALSE(seen.empty());
    ASSERT_EQ(seen.front().status, CompletionStatus::kRetryExceeded);
    fill(0, 0, kLarge, 3);
    pair.pass(100ms);
    EXPECT_TRUE(is_filled(0, 0, kLarge, 3)) << run;
  }
}

TEST_F(AdversaryTest, TouchesNoMemoryAfterItWasDeregistered) {
  behave({Behavior::kLatePlacement});
  connect();
  for (int run = 1; run <= kManyRuns; ++run) {
    Host& b = pair.b();
    const auto region = test::value_of(
        b.device().register_memory(b.pd(), b.memory().data() + kLarge, kLarge, 0,
                                   transport::Access::kLocalWrite | transport::Access::kRemoteWrite));
    transport::SendRequest write = write_to_b(1, 0);
    write.remote_address = 0;
    write.rkey = transport::Rkey{b.device().rkey_of(region.key)};
    fill(0, 0, kLarge, run);
    pair.a().post(write, 0, kLarge);
    pair.settle();
    ASSERT_EQ(poll_ids(0).size(), 1u);
    ASSERT_TRUE(b.device().deregister_memory(b.pd(), region.key));
    // What was acknowledged is there, and the memory is the program's.
    EXPECT_TRUE(is_filled(1, kLarge, kLarge, run)) << run;
    fill(1, kLarge, kLarge, 0);
    pair.pass(1ms);
    EXPECT_TRUE(is_filled(1, kLarge, kLarge, 0)) << run;
  }
}

TEST_F(AdversaryTest, PlacesAllBeforeItsQueuePairEnds) {
  behave({Behavior::kLatePlacement});
  for (std::size_t run = 0; run < 16; ++run) {
    connect();
    fill(0, 0, kLarge, static_cast<int>(run) + 1);
    pair.a().post(write_to_b(1, 0), 0, kLarge, run);
    pair.settle();
    pair.b().destroy_queue_pair(run);
    EXPECT_TRUE(is_filled(1, 0, kLarge, static_cast<int>(run) + 1)) << run;
  }
}

TEST_F(AdversaryTest, AddsEachAtomicOnce) {
  behave({Behavior::kLatePlacement, Behavior::kLatePayload, Behavior::kSlowQueuePair});
  connect();
  fill(1, 0, 8, 0);
  for (std::uint64_t i = 0; i < 50; ++i) {
    transport::SendRequest add = write_to_b(i, 0);
    add.operation = SendOperation::kFetchAdd;
    add.swap_or_add = 1;
    pair.a().post(add, 64, 8);
  }
  pair.pass(500ms);
  EXPECT_EQ(poll_ids(0).size(), 50u);
  std::uint64_t sum = 0;
  std::memcpy(&sum, pair.b().memory().data(), sizeof sum);
  EXPECT_EQ(sum, 50u);
}

}  // namespace
}  // namespace urnic::nic
