// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <span>
#include <thread>
#include <vector>

#include "tests/unit/nic/queues/completion_queue_fixture.h"

namespace urnic::nic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using transport::Completion;

TEST_F(CompletionQueueTest, ShowsNothingBeforeItIsPublished) {
  complete(1);
  EXPECT_THAT(poll(), IsEmpty());
  publish();
  EXPECT_THAT(poll(), ElementsAre(1));
}

TEST_F(CompletionQueueTest, GivesCompletionsInOrderAndAsManyAsAskedFor) {
  for (std::uint64_t i = 1; i <= 3; ++i) complete(i);
  publish();
  EXPECT_THAT(poll(2), ElementsAre(1, 2));
  EXPECT_THAT(poll(0), IsEmpty());
  EXPECT_THAT(poll(2), ElementsAre(3));
  EXPECT_THAT(poll(2), IsEmpty());
}

TEST_F(CompletionQueueTest, GoesRoundAndRound) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    complete(i);
    complete(1000 + i);
    publish();
    EXPECT_THAT(poll(), ElementsAre(i, 1000 + i));
  }
  EXPECT_FALSE(queue->has_overrun());
}

TEST_F(CompletionQueueTest, KeepsTheOldestAndSaysSoWhenItOverruns) {
  ASSERT_EQ(queue->capacity(), 4u);
  for (std::uint64_t i = 1; i <= 4; ++i) complete(i);
  EXPECT_FALSE(queue->has_overrun());
  complete(5);
  publish();
  EXPECT_TRUE(queue->has_overrun());
  EXPECT_THAT(poll(), ElementsAre(1, 2, 3, 4));
}

TEST_F(CompletionQueueTest, HasAtLeastTheCapacityAskedFor) {
  const CompletionQueue odd(pair.a().device().engine(), 5, nullptr, nullptr);
  EXPECT_GE(odd.capacity(), 5u);
}

TEST_F(CompletionQueueTest, NotifiesOncePerRequest) {
  queue->request_notification(false);
  EXPECT_FALSE(has_event());
  complete(1);
  complete(2);
  EXPECT_FALSE(has_event());
  publish();
  EXPECT_TRUE(has_event());
  complete(3);
  publish();
  EXPECT_FALSE(has_event());
}

// As hardware does that compares the program's index with its own. UCX arms a queue that it has not emptied.
TEST_F(CompletionQueueTest, NotifiesAtOnceWhenItIsArmedOverCompletionsThatWait) {
  complete(1);
  publish();
  queue->request_notification(false);
  EXPECT_TRUE(has_event());
  EXPECT_FALSE(has_event());
  EXPECT_THAT(poll(), ElementsAre(1));
  queue->request_notification(false);
  publish();
  EXPECT_FALSE(has_event());
  complete(2);
  publish();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueTest, KnowsThatAnEventToldOnlyOfWhatWaitedBefore) {
  complete(1);
  publish();
  queue->request_notification(false);
  EXPECT_TRUE(has_event());
  EXPECT_TRUE(queue->has_only_told_of_old());
  EXPECT_THAT(poll(), ElementsAre(1));
  EXPECT_FALSE(queue->has_only_told_of_old()) << "nothing waits";
  queue->request_notification(false);
  complete(2);
  publish();
  EXPECT_TRUE(has_event());
  EXPECT_FALSE(queue->has_only_told_of_old()) << "it came after the request";
}

TEST_F(CompletionQueueTest, WhatComesAfterTheRequestBringsAnEventOnEveryNic) {
  complete(1);
  publish();
  queue->request_notification(false);
  complete(2);
  publish();
  EXPECT_TRUE(has_event());
  EXPECT_FALSE(queue->has_only_told_of_old());
}

TEST_F(CompletionQueueTest, AnEarlierEventThatWaitsIsOneOnEveryNic) {
  queue->request_notification(false);
  complete(1);
  publish();
  complete(2);
  publish();
  queue->request_notification(false);
  EXPECT_TRUE(has_event());
  EXPECT_FALSE(queue->has_only_told_of_old());
}

TEST_F(CompletionQueueTest, IsAsleepOverCompletionsThatItHasToldOf) {
  queue->request_notification(false);
  complete(1);
  publish();
  EXPECT_TRUE(has_event());
  EXPECT_FALSE(queue->is_asleep()) << "no event is requested";
  queue->request_notification(false);
  EXPECT_TRUE(queue->is_asleep());
  EXPECT_THAT(poll(), ElementsAre(1));
  EXPECT_FALSE(queue->is_asleep());
}

// perftest asks again when it is woken, before it polls, and takes each event for another completion.
TEST_F(CompletionQueueTest, TellsOnlyOnceOfACompletionThatWaits) {
  queue->request_notification(false);
  complete(1);
  publish();
  EXPECT_TRUE(has_event());
  queue->request_notification(false);
  EXPECT_FALSE(has_event());
  complete(2);
  publish();
  EXPECT_TRUE(has_event());
  EXPECT_THAT(poll(1), ElementsAre(1));
  queue->request_notification(false);
  EXPECT_TRUE(has_event()) << "it has polled and left one";
  EXPECT_THAT(poll(), ElementsAre(2));
}

TEST_F(CompletionQueueTest, NotifiesAtOnceOfSolicitedCompletionsOnlyWhenAskedTo) {
  complete(1);
  publish();
  queue->request_notification(true);
  EXPECT_FALSE(has_event());
  complete(2, true);
  publish();
  EXPECT_TRUE(has_event());
  queue->request_notification(true);
  EXPECT_FALSE(has_event()) << "it was told of that one";
  EXPECT_THAT(poll(2), ElementsAre(1, 2));
  complete(3);
  publish();
  queue->request_notification(true);
  EXPECT_FALSE(has_event());
  queue->request_notification(false);
  EXPECT_TRUE(has_event()) << "the program now asks for all completions";
}

TEST_F(CompletionQueueTest, NotifiesOfASolicitedCompletionOnlyWhenAskedTo) {
  queue->request_notification(true);
  complete(1);
  publish();
  EXPECT_FALSE(has_event());
  complete(2, true);
  complete(3);
  publish();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueTest, IsNotTalkedOutOfARequestForAnyCompletion) {
  queue->request_notification(false);
  queue->request_notification(true);
  complete(1);
  publish();
  EXPECT_TRUE(has_event());
  EXPECT_THAT(poll(), ElementsAre(1));
  queue->request_notification(true);
  queue->request_notification(false);
  complete(2);
  publish();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueTest, TakesItsEventsAlongWhenItIsDestroyed) {
  queue->request_notification(false);
  complete(1);
  publish();
  ASSERT_TRUE(pair.a().device().destroy_cq(queue));
  EXPECT_FALSE(has_event());
  queue = std::move(pair.a().device().create_cq(4, &channel, this).value());
}

TEST_F(CompletionQueueTest, CanBeDestroyedWithCompletionsThatWereNotPublished) {
  complete(1);
  ASSERT_TRUE(pair.a().device().destroy_cq(queue));
  pair.settle();
  queue = std::move(pair.a().device().create_cq(4, &channel, this).value());
}

// A queue pair that was reset gets no completions from before; the other queue pair loses none, in whatever
// order they came.
TEST_F(CompletionQueueTest, ForgetsWhatAQueuePairHadCompletedWhenItIsReset) {
  pair.connect();
  pair.connect();
  for (std::uint64_t i = 0; i < 6; ++i) pair.a().post_receive(10 + i, 0, 10, i % 2);
  for (std::uint64_t i = 0; i < 6; ++i) {
    pair.b().post_send(i, 0, 10, i % 2);
    pair.settle();
  }
  EXPECT_EQ(pair.a().device().counters().value(transport::Counter::kReceivesCompleted), 6u);
  ASSERT_TRUE(pair.a().qp(0).modify({.state = transport::QpState::kReset}));
  EXPECT_EQ(pair.a().poll_text(), "11 ok, 13 ok, 15 ok");
  pair.b().post_send(9, 0, 10, 1);
  pair.a().post_receive(19, 0, 10, 1);
  pair.pass(std::chrono::seconds(1));
  EXPECT_EQ(pair.a().poll_text(), "19 ok");
}

// The other queue pair loses nothing, whichever kind of work it was.
TEST_F(CompletionQueueTest, ForgetsWhatAQueuePairHadCompletedWhenItIsDestroyed) {
  pair.connect();
  pair.connect();
  for (std::size_t i = 0; i < 2; ++i) {
    pair.a().post_receive(10 + i, 0, 10, i);
    pair.b().post_send(1, 0, 10, i);
    pair.settle();
    pair.b().post_receive(1, 0, 10, i);
    pair.a().post_send(20 + i, 0, 10, i);
    pair.settle();
  }
  pair.a().destroy_queue_pair(0);
  EXPECT_EQ(pair.a().poll_text(), "11 ok, 21 ok");
}

TEST_F(CompletionQueueTest, TellsOnceMoreOfNothingThatItForgot) {
  queue->request_notification(false);
  complete_of(kDestroyed, 1);
  complete_of(kOther, 2);
  publish();
  EXPECT_TRUE(has_event());
  queue->discard(kDestroyed);
  queue->request_notification(false);
  EXPECT_FALSE(has_event()) << "it was told of the one that is left";
  complete_of(kOther, 3);
  publish();
  EXPECT_TRUE(has_event());
  EXPECT_THAT(poll(), ElementsAre(2, 3));
}

TEST_F(CompletionQueueTest, TellsOfNoSolicitedCompletionThatItForgot) {
  queue->request_notification(true);
  complete_of(kDestroyed, 1, true);
  queue->discard(kDestroyed);
  complete_of(kOther, 2);
  publish();
  EXPECT_FALSE(has_event());
  complete_of(kOther, 3, true);
  publish();
  EXPECT_TRUE(has_event());
  EXPECT_THAT(poll(), ElementsAre(2, 3));
}

// The program asks for a notification, then looks once more, and sleeps only when it finds nothing. Whenever
// completions come meanwhile, it must not sleep forever.
TEST_F(CompletionQueueTest, NeverLetsAProgramSleepThatArmsAndThenLooks) {
  constexpr std::uint64_t kCompletions = 20000;
  fcntl(channel.fd(), F_SETFL, 0);
  std::atomic<std::uint64_t> taken{0};
  std::thread program([&] {
    std::array<Completion, 4> completions;
    while (taken < kCompletions) {
      queue->request_notification(false);
      if (const std::size_t count = queue->poll(completions)) {
        taken += count;
      } else {
        ASSERT_TRUE(channel.wait());
      }
    }
  });
  for (std::uint64_t i = 0; i < kCompletions; ++i) {
    while (i - taken.load() >= queue->capacity()) std::this_thread::yield();
    complete_in_round(i);
  }
  program.join();
  EXPECT_FALSE(queue->has_overrun());
  EXPECT_EQ(taken.load(), kCompletions);
}

// The same for a program that looks first, asks for a notification, and then sleeps.
TEST_F(CompletionQueueTest, NeverLetsAProgramSleepThatLooksAndThenArms) {
  constexpr std::uint64_t kCompletions = 20000;
  fcntl(channel.fd(), F_SETFL, 0);
  std::atomic<std::uint64_t> taken{0};
  std::thread program([&] {
    std::array<Completion, 4> completions;
    while (true) {
      taken += queue->poll(std::span(completions).first(1));
      if (taken == kCompletions) return;
      queue->request_notification(false);
      ASSERT_TRUE(channel.wait());
    }
  });
  for (std::uint64_t i = 0; i < kCompletions; ++i) {
    while (i - taken.load() >= queue->capacity()) std::this_thread::yield();
    complete_in_round(i);
  }
  program.join();
  EXPECT_FALSE(queue->has_overrun());
}

}  // namespace
}  // namespace urnic::nic
