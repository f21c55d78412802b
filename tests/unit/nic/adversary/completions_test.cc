// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "tests/unit/nic/adversary/adversary_fixture.h"
#include "transport/completion.h"

namespace urnic::nic {
namespace {

using transport::Completion;
using transport::CompletionOpcode;
using transport::QpNumber;
using namespace std::chrono_literals;

constexpr std::uint64_t kPlayRounds = 200;

class AdversaryCompletionsTest : public AdversaryTest {
 protected:
  AdversaryCompletionsTest() { fcntl(channel.fd(), F_SETFL, O_NONBLOCK); }

  void complete(QpNumber qp, bool is_receive, std::uint64_t wr_id) {
    queues[0]->complete({.wr_id = wr_id,
                         .opcode = is_receive ? CompletionOpcode::kReceive : CompletionOpcode::kSend,
                         .qp_number = qp});
  }
  void publish() { pair.a().device().progress(); }
  bool has_event() { return channel.wait().has_value(); }
  /// How often the queue is empty right after a completion was published.
  int count_late() {
    int late = 0;
    for (std::uint64_t i = 1; i <= kPlayRounds; ++i) {
      complete(QpNumber{1}, false, i);
      publish();
      std::vector<std::uint64_t> seen = poll_ids(0);
      late += seen.empty() ? 1 : 0;
      if (seen.empty()) {
        pair.pass(2ms);
        seen = poll_ids(0);
      }
      EXPECT_EQ(seen, std::vector<std::uint64_t>{i});
    }
    return late;
  }
};

TEST_F(AdversaryCompletionsTest, ShowsSomeLateAndAllInTime) {
  behave({Behavior::kLateCompletion});
  const int late = count_late();
  EXPECT_GT(late, 5);
  EXPECT_LT(late, 60);
}

TEST_F(AdversaryCompletionsTest, ShowsThemAtOnceWithoutThatBehavior) {
  behave({});
  EXPECT_EQ(count_late(), 0);
}

TEST_F(AdversaryCompletionsTest, ShowsThemInPartsAndInOrder) {
  behave({Behavior::kCompletionsInParts});
  int in_parts = 0;
  for (std::uint64_t round = 0; round < kPlayRounds; ++round) {
    for (std::uint64_t i = 0; i < 5; ++i) complete(QpNumber{1}, false, i);
    publish();
    std::vector<std::uint64_t> seen = poll_ids(0);
    EXPECT_FALSE(seen.empty());
    in_parts += seen.size() < 5 ? 1 : 0;
    pair.pass(1ms);
    for (const std::uint64_t id : poll_ids(0)) seen.push_back(id);
    EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2, 3, 4));
  }
  EXPECT_GT(in_parts, 20);
}

// A program that waits for ENOMEM goes on posting on an ERR queue pair, and each request has a completion.
TEST_F(AdversaryCompletionsTest, HoldsBackNoMoreThanAQuarterOfTheRoom) {
  behave({Behavior::kLateCompletion, Behavior::kCompletionsInParts});
  const std::uint64_t more_than_a_quarter = queues[0]->capacity() / 4 + 1;
  std::uint64_t held_back = 0;
  for (std::uint64_t i = 0; i < kPlayRounds; ++i) {
    complete(QpNumber{1}, false, 1);
    publish();
    if (!poll_ids(0).empty()) continue;
    ++held_back;
    for (std::uint64_t id = 2; id <= more_than_a_quarter; ++id) complete(QpNumber{1}, false, id);
    publish();
    EXPECT_EQ(poll_ids(0).size(), more_than_a_quarter);
  }
  EXPECT_GT(held_back, 0u);
}

TEST_F(AdversaryCompletionsTest, LetsQueuesChangePlacesAndKeepsTheOrderOfEach) {
  behave({Behavior::kQueuesOutOfOrder, Behavior::kCompletionsInParts, Behavior::kLateCompletion});
  using Queue = std::pair<std::uint32_t, bool>;
  std::map<Queue, std::vector<std::uint64_t>> seen;
  std::uint64_t next = 0;
  bool is_in_order = true;
  std::uint64_t last = 0;
  const auto look = [&] {
    for (const Completion& completion : poll(0)) {
      is_in_order = is_in_order && completion.wr_id >= last;
      last = completion.wr_id;
      seen[{to_integer(completion.qp_number), transport::is_receive(completion.opcode)}].push_back(
          completion.wr_id);
    }
  };
  for (std::uint64_t round = 0; round < kPlayRounds; ++round) {
    for (std::uint32_t qp = 1; qp <= 2; ++qp) {
      complete(QpNumber{qp}, false, next++);
      complete(QpNumber{qp}, true, next++);
    }
    publish();
    look();
  }
  pair.pass(5ms);
  look();
  EXPECT_FALSE(is_in_order);
  EXPECT_EQ(seen.size(), 4u);
  for (const auto& [queue, ids] : seen) {
    EXPECT_EQ(ids.size(), kPlayRounds);
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  }
}

// A program that arms, polls until it finds nothing and then waits is told.
TEST_F(AdversaryCompletionsTest, TellsByAnEventOfWhatWasHiddenWhenTheProgramArmed) {
  behave({Behavior::kLateCompletion, Behavior::kCompletionsInParts, Behavior::kNoEventForWaiting,
          Behavior::kLateCompletionEvent, Behavior::kSpuriousCompletionEvent});
  std::uint64_t polled = 0;
  for (std::uint64_t i = 1; i <= kPlayRounds; ++i) {
    complete(QpNumber{1}, false, i);
    complete(QpNumber{1}, false, i);
    publish();
    while (polled < 2 * i) {
      queues[0]->request_notification(false);
      const std::size_t found = poll_ids(0).size();
      polled += found;
      if (found > 0) continue;
      bool was_told = has_event();
      for (int wait = 0; !was_told && wait < 50; ++wait) {
        pair.pass(1ms);
        was_told = has_event();
      }
      ASSERT_TRUE(was_told) << i;
    }
    while (has_event()) {
    }
  }
  EXPECT_EQ(polled, 2 * kPlayRounds);
}

// Although more is still hidden.
TEST_F(AdversaryCompletionsTest, TellsAsSoonAsThereIsSomethingToPoll) {
  behave({Behavior::kLateCompletion, Behavior::kCompletionsInParts});
  for (std::uint64_t i = 1; i <= kPlayRounds; ++i) {
    queues[0]->request_notification(false);
    for (int of_one_time = 0; of_one_time < 4; ++of_one_time) complete(QpNumber{1}, false, i);
    publish();
    for (int wait = 0; wait < 50 && !has_event(); ++wait) {
      ASSERT_EQ(poll_ids(0).size(), 0u) << i;
      pair.pass(1ms);
    }
    pair.pass(50ms);
    EXPECT_EQ(poll_ids(0).size(), 4u);
    while (has_event()) {
    }
  }
}

TEST_F(AdversaryCompletionsTest, RaisesAnEventForNothingNowAndThen) {
  behave({Behavior::kSpuriousCompletionEvent});
  int spurious = 0;
  for (std::uint64_t i = 0; i < kPlayRounds; ++i) {
    queues[0]->request_notification(false);
    spurious += has_event() ? 1 : 0;
  }
  EXPECT_GT(spurious, 5);
  EXPECT_LT(spurious, 60);
}

TEST_F(AdversaryCompletionsTest, RaisesNoEventForWhatWaitedWhenItWasArmed) {
  behave({Behavior::kNoEventForWaiting});
  int silent = 0;
  for (std::uint64_t i = 0; i < kPlayRounds; ++i) {
    complete(QpNumber{1}, false, i);
    publish();
    queues[0]->request_notification(false);
    const bool was_told = has_event();
    silent += was_told ? 0 : 1;
    static_cast<void>(poll(0));
    if (was_told) continue;
    // The next one does.
    complete(QpNumber{1}, false, i);
    publish();
    EXPECT_TRUE(has_event());
    static_cast<void>(poll(0));
  }
  EXPECT_GT(silent, 50);
}

TEST_F(AdversaryCompletionsTest, KeepsCompletionsOfSomeQueuePairsThatEnd) {
  behave({Behavior::kCompletionAfterDestroy});
  std::size_t kept = 0;
  for (std::size_t run = 0; run < 32; ++run) {
    connect();
    pair.a().post(write_to_b(run, 0), 0, 64, run);
    pair.settle();
    pair.a().destroy_queue_pair(run);
    kept += poll_ids(0).size();
  }
  EXPECT_GT(kept, 4u);
  EXPECT_LT(kept, 28u);
}

}  // namespace
}  // namespace urnic::nic
